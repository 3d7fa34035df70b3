// Shared by the kernels for gradients of layer and RMS norm: their arguments, the sums of a row,
// and the partial sums of the gradients of weight and bias.
#pragma once

#include "causeway/kernels/norm/norm_arrays.h"
#include "causeway/kernels/rows.cuh"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

// Multiprocessors of an H200. Kernels start the blocks that are resident there, on any GPU, since
// the order of sums depends on their number.
inline constexpr std::int64_t kProcessors = 132;
inline constexpr std::int64_t kLeastRows = 4;  // per team, if that leaves enough blocks

template <class T>
struct NormGradientRows : NormGradientArrays<T> {
  Compute<T>* partial;  // (blocks, 2, n_columns): partial gradients of weight and bias
  std::int64_t n_rows;
  int n_columns;
  bool centred;  // layer norm
};

// The sums of weight * gradient, and of that times the normalised row.
template <class C>
struct RowSums {
  C flat;
  C along;

  static __device__ __forceinline__ RowSums combine(const RowSums& a, const RowSums& b) {
    return {a.flat + b.flat, a.along + b.along};
  }
};

// Allocates rows.partial for n_pieces partial sums if `needed`, else sets it to nullptr.
template <class T>
Buffer allocate_partial(StreamView stream, NormGradientRows<T>& rows, std::int64_t n_pieces,
                        bool needed) {
  Buffer space;
  if (needed) {
    space =
        pool_of(stream.device())
            .allocate(static_cast<std::size_t>(n_pieces * 2 * rows.n_columns) * sizeof(Compute<T>),
                      stream);
  }
  rows.partial = reinterpret_cast<Compute<T>*>(space.data());
  return space;
}

inline constexpr int kSumColumns = 32;  // columns per block, and threads per column

// Adds the partial sums of a column in an order that depends on their number only.
template <class T>
__global__ void __launch_bounds__(kSumColumns* kSumColumns)
    add_partials_kernel(const Compute<T>* partial, int n_pieces, int n_columns, T* weight_gradient,
                        T* bias_gradient) {
  using C = Compute<T>;
  __shared__ C memory[kSumColumns][kSumColumns + 1];
  wait_for_previous();
  T* out = blockIdx.y == 0 ? weight_gradient : bias_gradient;
  if (out == nullptr) return;
  const int column = static_cast<int>(blockIdx.x * kSumColumns + threadIdx.x);
  C sum = C(0);
  if (column < n_columns) {
    const C* from = partial + std::int64_t{blockIdx.y} * n_columns + column;
#pragma unroll 8
    for (int piece = static_cast<int>(threadIdx.y); piece < n_pieces; piece += kSumColumns) {
      sum += from[std::int64_t{piece} * 2 * n_columns];
    }
  }
  memory[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (unsigned height = kSumColumns / 2; height > 0; height /= 2) {
    if (threadIdx.y < height) {
      memory[threadIdx.y][threadIdx.x] += memory[threadIdx.y + height][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && column < n_columns) out[column] = static_cast<T>(memory[0][threadIdx.x]);
}

template <class T>
void add_partials(StreamView stream, const NormGradientRows<T>& rows, std::int64_t n_pieces,
                  T* weight_gradient, T* bias_gradient) {
  if (rows.partial == nullptr) return;
  const dim3 grid(static_cast<unsigned>((rows.n_columns + kSumColumns - 1) / kSumColumns), 2);
  const Launch how("norm_gradient", stream, grid, dim3(kSumColumns, kSumColumns));
  launch(how.overlapping(), add_partials_kernel<T>, rows.partial, static_cast<int>(n_pieces),
         rows.n_columns, weight_gradient, bias_gradient);
}

}  // namespace causeway::kernels::cuda
