// The inputs of a tabular transformer on the GPU. The tables are read from L2 a few times, the
// inputs are written once; bound by those writes.
#include "causeway/models/kernels/tabular.h"

#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kWarp = 32;

__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

// One warp per column of a table.
__global__ void __launch_bounds__(kThreads)
    statistics_kernel(TableView view, std::int64_t n_tables, float* out) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const std::int64_t n_columns = view.n_features + 1;
  if (at >= n_tables * n_columns) return;
  const std::int64_t table = at / n_columns;
  const std::int64_t column = at % n_columns;
  const bool is_target = column == view.n_features;
  const float* values = is_target ? view.y + table * view.n_rows
                                  : view.x + table * view.n_rows * view.n_features + column;
  const std::int64_t step = is_target ? 1 : view.n_features;
  const bool exists = is_target || column < view.sizes[3 * table + 1];
  const std::int64_t n_context = exists ? view.sizes[3 * table + 2] : 0;
  double sum = 0;
  double n = 0;
  for (std::int64_t i = lane; i < n_context; i += kWarp) {
    const float value = values[i * step];
    if (is_number(value)) {
      sum += value;
      n += 1;
    }
  }
  sum = warp_sum(sum);
  n = warp_sum(n);
  const double mean = n > 0 ? sum / n : 0;
  double squares = 0;
  for (std::int64_t i = lane; i < n_context; i += kWarp) {
    const float value = values[i * step];
    if (is_number(value)) squares += (value - mean) * (value - mean);
  }
  squares = warp_sum(squares);
  if (lane != 0) return;
  const double deviation = n > 0 ? sqrt(squares / n) : 0;
  out[2 * at] = static_cast<float>(mean);
  out[2 * at + 1] = inverse_deviation(mean, deviation);
}

// One thread per eight elements of a token. Radial inputs have a kernel of their own, since the
// code of ranks and bumps is long.
template <class T, bool kRadial>
__global__ void __launch_bounds__(kThreads)
    inputs_kernel(TableInputs inputs, TableView view, std::int64_t n_tokens, std::int64_t n_rows,
                  std::int64_t first_row, T* out) {
  constexpr int kEach = 8;
  inputs.radial = kRadial;
  const int pieces = inputs.width() / kEach;
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n_tokens * pieces) return;
  const std::int64_t token = at / pieces;
  const int first = static_cast<int>(at % pieces) * kEach;
  const std::int64_t n_each = 1 + inputs.feature_tokens(view.n_features);  // tokens of a row
  const std::int64_t row = token / n_each;
  T* to = out + at * kEach;
#pragma unroll(kRadial ? 1 : kEach)
  for (int k = 0; k < kEach; ++k) {
    to[k] = static_cast<T>(
        view.input(inputs, row / n_rows, first_row + row % n_rows, token % n_each, first + k));
  }
}

__global__ void __launch_bounds__(kThreads)
    targets_kernel(TableView view, const float* borders, std::int64_t n_borders, std::int64_t count,
                   std::int64_t* out) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < count) out[at] = view.target(at / view.n_rows, at % view.n_rows, borders, n_borders);
}

dim3 blocks_for(std::int64_t count) {
  return dim3(static_cast<unsigned>((count + kThreads - 1) / kThreads));
}

TableView view_of(const Operand& x, const Operand& y, const Operand& sizes,
                  const Operand& statistics) {
  return {static_cast<const float*>(x.data),
          static_cast<const float*>(y.data),
          static_cast<const std::int64_t*>(sizes.data),
          static_cast<const float*>(statistics.data),
          x.shape[1],
          x.shape[2]};
}

}  // namespace

void table_statistics(StreamView stream, const Operand& x, const Operand& y, const Operand& sizes,
                      const Operand& statistics) {
  const std::int64_t warps = x.shape[0] * (x.shape[2] + 1);
  if (warps == 0) return;
  launch({"table_statistics", stream, blocks_for(warps * kWarp), dim3(kThreads)}, statistics_kernel,
         view_of(x, y, sizes, statistics), x.shape[0], static_cast<float*>(statistics.data));
}

void table_inputs(StreamView stream, const TableInputs& inputs, const Operand& x, const Operand& y,
                  const Operand& sizes, const Operand& statistics, const Operand& sorted,
                  const Operand& out) {
  const std::int64_t tokens = out.shape[0] * out.shape[1] * out.shape[2];
  if (tokens == 0) return;
  TableView view = view_of(x, y, sizes, statistics);
  if (inputs.radial) {
    view.sorted = static_cast<const float*>(sorted.data);
    view.n_sorted = sorted.shape[2];
  }
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"table_inputs", stream, blocks_for(tokens * (inputs.width() / 8)), dim3(kThreads)},
           inputs.radial ? inputs_kernel<T, true> : inputs_kernel<T, false>, inputs, view, tokens,
           out.shape[1], inputs.n_thinking + x.shape[1] - out.shape[1], static_cast<T*>(out.data));
  });
}

void table_targets(StreamView stream, const Operand& y, const Operand& sizes,
                   const Operand& statistics, const Operand& borders, const Operand& out) {
  const std::int64_t count = y.shape[0] * y.shape[1];
  if (count == 0) return;
  const TableView view{nullptr,
                       static_cast<const float*>(y.data),
                       static_cast<const std::int64_t*>(sizes.data),
                       static_cast<const float*>(statistics.data),
                       y.shape[1],
                       statistics.shape[1] - 1};
  const std::int64_t n_borders = borders.data == nullptr ? 0 : borders.shape[0];
  launch({"table_targets", stream, blocks_for(count), dim3(kThreads)}, targets_kernel, view,
         static_cast<const float*>(borders.data), n_borders, count,
         static_cast<std::int64_t*>(out.data));
}

}  // namespace causeway::kernels::cuda
