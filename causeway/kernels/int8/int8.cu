// Rounding to 8-bit integers and linear layers of them on the GPU. The product is cuBLASLt's, which
// gives the exact sums as i32; a second kernel multiplies them by the scales. quantize_rows reads
// the matrix twice, the second time from a cache, and writes one byte per element; bound by memory.
// int8_linear is bound by tensor cores, and its second kernel by memory: 4 bytes per element read,
// the output written.
#include "causeway/kernels/int8/int8.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/int8/int8_device.h"
#include "causeway/kernels/matmul/product_cuda.h"
#include "causeway/runtime/launch.h"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// One block per row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    quantize_rows_kernel(int n_columns, const T* matrix, std::int8_t* values, float* scales) {
  const T* row = matrix + std::int64_t{blockIdx.x} * n_columns;
  std::int8_t* to = values + std::int64_t{blockIdx.x} * n_columns;
  std::uint32_t largest = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n_columns; i += kThreads) {
    largest = max(largest, magnitude_bits(static_cast<float>(row[i])));
  }
  __shared__ std::uint32_t of_warp[kThreads / 32];
  largest = __reduce_max_sync(0xffffffffu, largest);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  for (const std::uint32_t other : of_warp) largest = max(largest, other);
  const float scale = magnitude_of(largest) / kLargestInt8;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int i = static_cast<int>(threadIdx.x); i < n_columns; i += kThreads) {
    to[i] =
        static_cast<std::int8_t>(rounded_quotient(static_cast<float>(row[i]), scale, kLargestInt8));
  }
}

// One thread per element; the grid's second dimension is the row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scale_sums_kernel(int n_columns, const std::int32_t* sums, const float* of_rows,
                      const float* of_columns, const float* bias, T* out) {
  const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (column >= n_columns) return;
  const std::int64_t at = std::int64_t{blockIdx.y} * n_columns + column;
  out[at] = static_cast<T>(scaled_sum(sums[at], of_rows[blockIdx.y], of_columns[column],
                                      bias != nullptr ? bias[column] : 0.0f));
}

// x and weight are row-major, so the weight is transposed: the layout that integer products need.
Problem problem_of(Device device, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.leading_a = k;
  problem.leading_b = k;
  problem.transposed_b = 1;
  problem.device = device.index;
  problem.alignment = 16;
  problem.dtype = static_cast<std::uint8_t>(DType::i8);
  problem.out_dtype = static_cast<std::uint8_t>(DType::i32);
  return problem;
}

}  // namespace

void quantize_rows(StreamView stream, const Operand& matrix, const Operand& values,
                   const Operand& scales) {
  const std::int64_t n_rows = matrix.shape[0];
  if (n_rows == 0) return;
  dispatch_floating(matrix.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"quantize rows", stream, dim3(static_cast<unsigned>(n_rows)), dim3(kThreads)},
           quantize_rows_kernel<T>, static_cast<int>(matrix.shape[1]),
           static_cast<const T*>(matrix.data), static_cast<std::int8_t*>(values.data),
           static_cast<float*>(scales.data));
  });
}

bool takes_int8_linear(Device device, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kMostRows = 65535;  // of a grid
  return m <= kMostRows && n % 16 == 0 && k % 16 == 0 && can_multiply(problem_of(device, m, n, k));
}

void int8_linear(StreamView stream, const Operand& x, const Operand& x_scales,
                 const Operand& weight, const Operand& weight_scales, const Operand& bias,
                 const Operand& out) {
  const driver::DeviceScope scope(stream.device().index);
  const std::int64_t m = out.shape[0];
  const std::int64_t n = out.shape[1];
  const Buffer sums = pool_of(stream.device())
                          .allocate(static_cast<std::size_t>(m * n) * sizeof(std::int32_t), stream);
  ProductData data;
  data.a = x.data;
  data.b = weight.data;
  data.out = sums.data();
  multiply(stream, problem_of(stream.device(), m, n, x.shape[1]), data);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const dim3 grid(static_cast<unsigned>((n + kThreads - 1) / kThreads), static_cast<unsigned>(m));
    launch({"scale int8 sums", stream, grid, dim3(kThreads)}, scale_sums_kernel<T>,
           static_cast<int>(n), reinterpret_cast<const std::int32_t*>(sums.data()),
           static_cast<const float*>(x_scales.data), static_cast<const float*>(weight_scales.data),
           static_cast<const float*>(bias.data), static_cast<T*>(out.data));
  });
}

}  // namespace causeway::kernels::cuda
