// The gradients of layer and RMS norm on the CPU. Rows are divided into pieces by the shape only.
// Each piece sums its rows' contributions to the gradients of weight and bias, and the pieces are
// added in order, so that any number of threads gives the same bits.
#include "causeway/kernels/row_sums_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_arrays.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kMostPieces = 64;
constexpr std::int64_t kLeastRows = 16;  // per piece

// `sums` are those of weight and bias, n_columns each. `weight_of(i)` is 1 without weights.
template <class T, class C, class Weight>
void gradient_row(const Norm& how, const NormGradientArrays<T>& arrays, std::int64_t row, C* sums,
                  const Weight& weight_of) {
  const std::int64_t n_columns = how.n_columns;
  const T* __restrict x = arrays.x + row * n_columns;
  const T* __restrict g = arrays.gradient + row * n_columns;
  T* __restrict to = arrays.x_gradient + row * n_columns;
  const C mean = how.op == NormOp::layer ? arrays.mean[row] : C(0);
  const C rstd = arrays.rstd[row];
  C* __restrict weight_sums = sums;
  C* __restrict bias_sums = sums + n_columns;
  const auto found = two_sums_of_row<C>(n_columns, [&](std::int64_t i) CAUSEWAY_INLINE {
    const C gradient = static_cast<C>(g[i]);
    const C normal = (static_cast<C>(x[i]) - mean) * rstd;
    weight_sums[i] += gradient * normal;
    bias_sums[i] += gradient;
    const C scaled = gradient * weight_of(i);
    return TwoSums<C>{scaled, scaled * normal};
  });
  const C share = C(1) / static_cast<C>(n_columns);
  const C flat = how.op == NormOp::layer ? share * found.first : C(0);
  const C along = share * found.second;
  const auto result = [&](std::int64_t i) CAUSEWAY_INLINE {
    const C normal = (static_cast<C>(x[i]) - mean) * rstd;
    return rstd * (static_cast<C>(g[i]) * weight_of(i) - flat - normal * along);
  };
  if (arrays.sum_gradient == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) to[i] = static_cast<T>(result(i));
    return;
  }
  const T* more = arrays.sum_gradient + row * n_columns;
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) {
    to[i] = static_cast<T>(result(i) + static_cast<C>(more[i]));
  }
}

template <class T, class C>
void combine(const std::vector<C>& partial, std::int64_t n_pieces, std::int64_t n_columns,
             std::int64_t which, T* out) {
  if (out == nullptr) return;
  for (std::int64_t i = 0; i < n_columns; ++i) {
    double sum = 0;
    for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
      sum += static_cast<double>(
          partial[static_cast<std::size_t>((piece * 2 + which) * n_columns + i)]);
    }
    out[i] = static_cast<T>(static_cast<C>(sum));
  }
}

}  // namespace

void norm_gradient(StreamView, const Norm& how, const Operand& x, const Operand& weight,
                   const Operand& mean, const Operand& rstd, const Operand& gradient,
                   const Operand& sum_gradient, const Operand& x_gradient,
                   const Operand& weight_gradient, const Operand& bias_gradient) {
  dispatch_floating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const NormGradientArrays<T> arrays(x, weight, mean, rstd, gradient, sum_gradient, x_gradient);
    const std::int64_t rows = std::max(kLeastRows, (how.n_rows + kMostPieces - 1) / kMostPieces);
    const std::int64_t n_pieces = (how.n_rows + rows - 1) / rows;
    std::vector<C> partial(static_cast<std::size_t>(n_pieces * 2 * how.n_columns));
    const std::int64_t grain = row_grain(how.n_columns * rows);
    parallel_for(n_pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece) {
        C* sums = partial.data() + piece * 2 * how.n_columns;
        const std::int64_t last = std::min(how.n_rows, (piece + 1) * rows);
        for (std::int64_t row = piece * rows; row < last; ++row) {
          if (arrays.weight != nullptr) {
            gradient_row(how, arrays, row, sums, [&](std::int64_t i) CAUSEWAY_INLINE {
              return static_cast<C>(arrays.weight[i]);
            });
          } else {
            gradient_row(how, arrays, row, sums, [](std::int64_t) CAUSEWAY_INLINE { return C(1); });
          }
        }
      }
    });
    combine(partial, n_pieces, how.n_columns, 0, static_cast<T*>(weight_gradient.data));
    combine(partial, n_pieces, how.n_columns, 1, static_cast<T*>(bias_gradient.data));
  });
}

}  // namespace causeway::kernels::cpu
