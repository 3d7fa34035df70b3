// Tables in reverse order on the GPU. Reads and writes every cell once; bound by latency, as a
// batch of tables is small.
#include "causeway/models/kernels/reversed_tables.h"

#include "causeway/runtime/launch.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kParts = 16;  // blocks of a table; each looks for the greatest class

__global__ void __launch_bounds__(kThreads) reverse_kernel(ReversedTables tables) {
  const std::int64_t table = blockIdx.x;
  __shared__ int greatest;
  if (threadIdx.x == 0) greatest = 0;
  __syncthreads();
  if (tables.has_classes) {
    for (std::int64_t row = threadIdx.x; row < tables.sizes[3 * table]; row += kThreads) {
      atomicMax(&greatest, static_cast<int>(tables.y[table * tables.n_rows + row]));
    }
  }
  __syncthreads();
  const std::int64_t n_columns = tables.n_features + 1;
  const std::int64_t step = std::int64_t{gridDim.y} * kThreads;
  for (std::int64_t at = std::int64_t{blockIdx.y} * kThreads + threadIdx.x;
       at < tables.n_rows * n_columns; at += step) {
    tables.write(table, at / n_columns, at % n_columns, static_cast<float>(greatest));
  }
}

}  // namespace

void reverse_tables(StreamView stream, const Operand& x, const Operand& y, const Operand& sizes,
                    bool has_classes, const Operand& out_x, const Operand& out_y) {
  if (y.shape[0] * y.shape[1] == 0) return;
  launch(
      {"reverse_tables", stream, dim3(static_cast<unsigned>(x.shape[0]), kParts), dim3(kThreads)},
      reverse_kernel, reversed_tables(x, y, sizes, has_classes, out_x, out_y));
}

}  // namespace causeway::kernels::cuda
