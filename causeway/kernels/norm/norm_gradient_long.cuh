// The gradients of norms for rows too long for registers. Bytes: x and the gradient three times
// (for the sums of the columns, the sums of the rows and the result), x's gradient once; bound by
// memory.
#pragma once

#include "causeway/kernels/norm/norm_gradient.cuh"

#include <algorithm>

namespace causeway::kernels::cuda {

// One block per row, read once for the sums and once for the result.
template <int kVec, class T>
__global__ void __launch_bounds__(kRowThreads) norm_gradient_long_kernel(NormGradientRows<T> rows) {
  using C = Compute<T>;
  __shared__ RowSums<C> memory[64];
  TeamScratch<RowSums<C>> scratch(memory);
  const Team team(kRowThreads);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows.n_columns;
  const C mean = rows.centred ? rows.mean[blockIdx.x] : C(0);
  const C rstd = rows.rstd[blockIdx.x];
  const auto load = [&](int column, Values<C, kVec>& normal, Values<C, kVec>& scaled) {
    normal = unpack(load_vector<kVec>(rows.x + first + column));
    scaled = unpack(load_vector<kVec>(rows.gradient + first + column));
#pragma unroll
    for (int i = 0; i < kVec; ++i) normal.value[i] = (normal.value[i] - mean) * rstd;
    if (rows.weight == nullptr) return;
    const auto w = unpack(load_vector<kVec>(rows.weight + column));
#pragma unroll
    for (int i = 0; i < kVec; ++i) scaled.value[i] *= w.value[i];
  };
  RowSums<C> sums = {C(0), C(0)};
  Values<C, kVec> normal;
  Values<C, kVec> scaled;
#pragma unroll 2
  for (int column = team.rank * kVec; column < rows.n_columns; column += kRowThreads * kVec) {
    load(column, normal, scaled);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      sums.flat += scaled.value[i];
      sums.along += scaled.value[i] * normal.value[i];
    }
  }
  sums = combine_team(team, sums, RowSums<C>{C(0), C(0)}, scratch, RowSums<C>::combine);
  const C flat = rows.centred ? sums.flat / static_cast<C>(rows.n_columns) : C(0);
  const C along = sums.along / static_cast<C>(rows.n_columns);
#pragma unroll 2
  for (int column = team.rank * kVec; column < rows.n_columns; column += kRowThreads * kVec) {
    load(column, normal, scaled);
    Values<C, kVec> result;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      result.value[i] = rstd * (scaled.value[i] - flat - normal.value[i] * along);
    }
    if (rows.sum_gradient != nullptr) {
      const auto more = unpack(load_vector<kVec>(rows.sum_gradient + first + column));
#pragma unroll
      for (int i = 0; i < kVec; ++i) result.value[i] += more.value[i];
    }
    store_vector(rows.x_gradient + first + column, pack<T>(result));
  }
}

// Sums of the columns over a piece of the rows, one thread per column. Runs first, because the
// result may overwrite the gradient.
template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_columns_kernel(NormGradientRows<T> rows, std::int64_t piece) {
  using C = Compute<T>;
  const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (column >= rows.n_columns) return;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < rows.n_rows ? begin + piece : rows.n_rows;
  C weight_sum = C(0);
  C bias_sum = C(0);
#pragma unroll 8
  for (std::int64_t row = begin; row < end; ++row) {
    const C g = static_cast<C>(rows.gradient[row * rows.n_columns + column]);
    const C x = static_cast<C>(rows.x[row * rows.n_columns + column]);
    const C mean = rows.centred ? rows.mean[row] : C(0);
    weight_sum += g * ((x - mean) * rows.rstd[row]);
    bias_sum += g;
  }
  C* to = rows.partial + std::int64_t{blockIdx.y} * 2 * rows.n_columns + column;
  to[0] = weight_sum;
  to[rows.n_columns] = bias_sum;
}

template <class T>
void norm_gradient_of_long_rows(StreamView stream, NormGradientRows<T> rows, bool aligned,
                                T* weight_gradient, T* bias_gradient) {
  if (weight_gradient != nullptr || bias_gradient != nullptr) {
    const std::int64_t n_pieces = std::clamp<std::int64_t>(rows.n_rows / 32, 1, 64);
    const std::int64_t piece = (rows.n_rows + n_pieces - 1) / n_pieces;
    const Buffer space = allocate_partial(stream, rows, n_pieces, true);
    const auto column_blocks = static_cast<unsigned>((rows.n_columns + kThreads - 1) / kThreads);
    launch({"norm_gradient", stream, dim3(column_blocks, static_cast<unsigned>(n_pieces)),
            dim3(kThreads)},
           norm_columns_kernel<T>, rows, piece);
    add_partials(stream, rows, n_pieces, weight_gradient, bias_gradient);
  }
  launch(
      {"norm_gradient", stream, dim3(static_cast<unsigned>(rows.n_rows)), dim3(kRowThreads)},
      aligned ? norm_gradient_long_kernel<vector_width<T>(), T> : norm_gradient_long_kernel<1, T>,
      rows);
}

}  // namespace causeway::kernels::cuda
