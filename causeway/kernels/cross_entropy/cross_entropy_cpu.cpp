// Cross entropy with its gradient on the CPU: a row stays in the cache between its passes. Bound by
// the exponentials.
#include "causeway/kernels/cross_entropy/cross_entropy.h"

#include "causeway/kernels/row_sums_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/fault.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

template <class T>
struct LossRows {
  using C = Compute<T>;
  const T* logits;
  const std::int64_t* classes;  // either classes
  const T* probabilities;       // or probabilities
  C* losses;
  T* gradient;
  C scale;
};

// The maximum logit and the sum of exp(logit - max); the terms are written to `terms`.
template <class C>
struct Softmax {
  C max;
  C sum;
};

template <class T, class C>
Softmax<C> softmax_of(const T* x, std::int64_t n_columns, C* terms) {
  const C max =
      max_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(x[i]); });
  if (terms == nullptr) {
    return {max, sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
              return exp_below_zero(static_cast<C>(x[i]) - max);
            })};
  }
  return {max, sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
            const C term = exp_below_zero(static_cast<C>(x[i]) - max);
            terms[i] = term;
            return term;
          })};
}

template <class T, class C>
void class_row(const CrossEntropy& how, const LossRows<T>& rows, std::int64_t row, C* terms) {
  const std::int64_t n_columns = how.n_columns;
  const T* x = rows.logits + row * n_columns;
  T* to = rows.gradient != nullptr ? rows.gradient + row * n_columns : nullptr;
  const std::int64_t target = rows.classes[row];
  if (target == how.ignore_index) {
    rows.losses[row] = C(0);
    if (to != nullptr) std::fill(to, to + n_columns, T(C(0)));
    return;
  }
  const C at_target = static_cast<C>(x[target]);
  const C smoothing = static_cast<C>(how.smoothing);
  const Softmax<C> softmax = softmax_of(x, n_columns, terms);
  const C log_sum = math::log(softmax.sum);
  C loss = log_sum + (softmax.max - at_target);
  if (smoothing != C(0)) {
    const C below = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
      return softmax.max - static_cast<C>(x[i]);
    });
    const C spread = log_sum + below / static_cast<C>(n_columns);
    loss = (C(1) - smoothing) * loss + smoothing * spread;
  }
  rows.losses[row] = loss;
  if (to == nullptr) return;
  const C factor = rows.scale / softmax.sum;
  const C spread = smoothing / static_cast<C>(n_columns) * rows.scale;
  const C peak = terms[target] * factor - (spread + (C(1) - smoothing) * rows.scale);
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) to[i] = static_cast<T>(terms[i] * factor - spread);
  to[target] = static_cast<T>(peak);
}

template <class T, class C>
void probability_row(const CrossEntropy& how, const LossRows<T>& rows, std::int64_t row, C* terms,
                     C* targets) {
  const std::int64_t n_columns = how.n_columns;
  const T* x = rows.logits + row * n_columns;
  const T* given = rows.probabilities + row * n_columns;
  const C keep = C(1) - static_cast<C>(how.smoothing);
  const C spread = static_cast<C>(how.smoothing) / static_cast<C>(n_columns);
  const C total = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    targets[i] = keep * static_cast<C>(given[i]) + spread;
    return targets[i];
  });
  const Softmax<C> softmax = softmax_of(x, n_columns, static_cast<C*>(nullptr));
  const C log_sum = math::log(softmax.sum);
  // An element with target 0 contributes nothing, whatever its logit.
  rows.losses[row] = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    const C share = targets[i] * (log_sum + (softmax.max - static_cast<C>(x[i])));
    return targets[i] == C(0) ? C(0) : share;
  });
  if (rows.gradient == nullptr) return;
  T* to = rows.gradient + row * n_columns;
  const C factor = rows.scale * total / softmax.sum;
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) {
    terms[i] = exp_below_zero(static_cast<C>(x[i]) - softmax.max) * factor;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) {
    to[i] = static_cast<T>(terms[i] - targets[i] * rows.scale);
  }
}

void check_classes(const CrossEntropy& how, const std::int64_t* classes) {
  for (std::int64_t row = 0; row < how.n_rows; ++row) {
    const std::int64_t target = classes[row];
    if (target != how.ignore_index && (target < 0 || target >= how.n_columns)) {
      throw_fault({static_cast<std::int32_t>(FaultSite::cross_entropy), 1, target, how.n_columns});
    }
  }
}

}  // namespace

void target_weight(StreamView, const CrossEntropy& how, const Operand& targets,
                   const Operand& out) {
  const auto* classes = static_cast<const std::int64_t*>(targets.data);
  const std::int64_t ignored = std::count(classes, classes + how.n_rows, how.ignore_index);
  const std::int64_t count = how.n_rows - ignored;
  if (out.dtype == DType::f64) {
    *static_cast<double*>(out.data) = count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
  } else {
    *static_cast<float*>(out.data) = count > 0 ? 1.0f / static_cast<float>(count) : 0.0f;
  }
}

void cross_entropy(StreamView, const CrossEntropy& how, const Operand& logits,
                   const Operand& targets, const Operand& scale, const Operand& losses,
                   const Operand& gradient) {
  const bool by_class = targets.dtype == DType::i64;
  if (by_class) check_classes(how, static_cast<const std::int64_t*>(targets.data));
  dispatch_floating(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const LossRows<T> rows = {static_cast<const T*>(logits.data),
                              by_class ? static_cast<const std::int64_t*>(targets.data) : nullptr,
                              by_class ? nullptr : static_cast<const T*>(targets.data),
                              static_cast<C*>(losses.data),
                              static_cast<T*>(gradient.data),
                              scale.data != nullptr ? *static_cast<const C*>(scale.data) : C(1)};
    parallel_for(how.n_rows, row_grain(how.n_columns), [&](std::int64_t begin, std::int64_t end) {
      const auto size = static_cast<std::size_t>(how.n_columns);
      std::vector<C> terms(size);
      std::vector<C> wanted(by_class ? 0 : size);
      for (std::int64_t row = begin; row < end; ++row) {
        if (by_class) {
          class_row(how, rows, row, rows.gradient != nullptr ? terms.data() : nullptr);
        } else {
          probability_row(how, rows, row, terms.data(), wanted.data());
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
