// Layer and RMS norm of rows on the CPU: a row stays in the cache between its passes, one of which
// is for the variance. Bound by memory for long inputs, else by arithmetic.
#include "causeway/kernels/row_sums_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_arrays.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

// `x` is the row with its residual. Without weight or bias, their arithmetic is omitted.
template <class T, class C>
void scale_row(const T* x, const T* weight, const T* bias, T* out, std::int64_t n_columns, C mean,
               C rstd) {
  const auto apply = [&](const auto& weight_of, const auto& bias_of) {
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      out[i] = static_cast<T>((static_cast<C>(x[i]) - mean) * rstd * weight_of(i) + bias_of(i));
    }
  };
  const auto weights = [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(weight[i]); };
  const auto biases = [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(bias[i]); };
  const auto one = [](std::int64_t) CAUSEWAY_INLINE { return C(1); };
  const auto zero = [](std::int64_t) CAUSEWAY_INLINE { return C(0); };
  if (weight != nullptr) {
    bias != nullptr ? apply(weights, biases) : apply(weights, zero);
  } else {
    bias != nullptr ? apply(one, biases) : apply(one, zero);
  }
}

template <class T>
void norm_row(const Norm& how, const NormArrays<T>& arrays, std::int64_t row, T* space) {
  using C = Compute<T>;
  const std::int64_t n_columns = how.n_columns;
  const T* x = arrays.in + row * n_columns;
  if (arrays.residual != nullptr) {
    const T* residual = arrays.residual + row * n_columns;
    T* to = arrays.sum != nullptr ? arrays.sum + row * n_columns : space;
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) {
      to[i] = static_cast<T>(static_cast<C>(x[i]) + static_cast<C>(residual[i]));
    }
    x = to;
  }
  const C share = C(1) / static_cast<C>(n_columns);
  C mean = C(0);
  if (how.op == NormOp::layer) {
    mean = share * sum_row<C>(n_columns,
                              [&](std::int64_t i) CAUSEWAY_INLINE { return static_cast<C>(x[i]); });
  }
  const C squares = sum_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    const C distance = static_cast<C>(x[i]) - mean;
    return distance * distance;
  });
  const C rstd = C(1) / math::sqrt(squares * share + static_cast<C>(how.epsilon));
  scale_row(x, arrays.weight, arrays.bias, arrays.out + row * n_columns, n_columns, mean, rstd);
  if (arrays.mean != nullptr) arrays.mean[row] = mean;
  if (arrays.rstd != nullptr) arrays.rstd[row] = rstd;
}

}  // namespace

void norm(StreamView, const Norm& how, const Operand& in, const Operand& residual,
          const Operand& weight, const Operand& bias, const Operand& sum, const Operand& out,
          const Operand& mean, const Operand& rstd) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const NormArrays<T> arrays(in, residual, weight, bias, sum, out, mean, rstd);
    const bool keeps_sum = residual.data == nullptr || sum.data != nullptr;
    parallel_for(how.n_rows, row_grain(how.n_columns), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> space(keeps_sum ? 0 : static_cast<std::size_t>(how.n_columns));
      for (std::int64_t row = begin; row < end; ++row) norm_row(how, arrays, row, space.data());
    });
  });
}

}  // namespace causeway::kernels::cpu
