// Softmax of rows on the CPU: a row stays in the cache between its three passes. Bound by the
// exponentials.
#include "causeway/kernels/row_sums_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

// `space` receives the exponentials of the row; it may be `out` itself.
template <class T, class C>
void softmax_row(const T* in, T* out, C* space, std::int64_t n_columns, bool logarithm) {
  const C max =
      max_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(in[i]); });
  if (logarithm) {
    const C log_sum = math::log(sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
      return exp_below_zero(static_cast<C>(in[i]) - max);
    }));
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      out[i] = static_cast<T>((static_cast<C>(in[i]) - max) - log_sum);
    }
    return;
  }
  const C sum = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    const C term = exp_below_zero(static_cast<C>(in[i]) - max);
    space[i] = term;
    return term;
  });
  const C factor = C(1) / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) out[i] = static_cast<T>(space[i] * factor);
}

template <class T>
void softmax_gradient_row(const T* y, const T* g, T* result, std::int64_t n_columns,
                          bool logarithm) {
  using C = Compute<T>;
  if (logarithm) {
    const C sum =
        sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(g[i]); });
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      result[i] = static_cast<T>(static_cast<C>(g[i]) - exp_below_zero(static_cast<C>(y[i])) * sum);
    }
    return;
  }
  const C sum = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    return static_cast<C>(y[i]) * static_cast<C>(g[i]);
  });
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) {
    result[i] = static_cast<T>(static_cast<C>(y[i]) * (static_cast<C>(g[i]) - sum));
  }
}

}  // namespace

void softmax(StreamView, SoftmaxOp op, const Operand& in, const Operand& out, std::int64_t n_rows,
             std::int64_t n_columns) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    parallel_for(n_rows, row_grain(n_columns), [&](std::int64_t begin, std::int64_t end) {
      std::vector<C> space(std::is_same_v<T, C> ? 0 : static_cast<std::size_t>(n_columns));
      for (std::int64_t at = begin * n_columns; at < end * n_columns; at += n_columns) {
        C* terms = space.data();
        if constexpr (std::is_same_v<T, C>) terms = to + at;
        softmax_row(from + at, to + at, terms, n_columns, op == SoftmaxOp::log_softmax);
      }
    });
  });
}

void softmax_gradient(StreamView, SoftmaxOp op, const Operand& out, const Operand& gradient,
                      const Operand& result, std::int64_t n_rows, std::int64_t n_columns) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* y = static_cast<const T*>(out.data);
    const auto* g = static_cast<const T*>(gradient.data);
    auto* to = static_cast<T*>(result.data);
    parallel_for(n_rows, row_grain(n_columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin * n_columns; at < end * n_columns; at += n_columns) {
        softmax_gradient_row(y + at, g + at, to + at, n_columns, op == SoftmaxOp::log_softmax);
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
