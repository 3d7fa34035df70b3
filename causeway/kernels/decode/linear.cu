// Products of up to 8 vectors with a matrix. Bytes: the weights once. Bound by memory and, for
// small matrices, by the latency of a launch: weights are fetched to the L2 cache while the
// previous kernel ends.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kBlock = 32 * kWarps;

struct LinearShape {
  int batch;
  int in;
  int out;
  DecodeLinear how;
};

// Norm weights and biases have the type of the model, which is not the type of i8 weights.
struct AnyFloat {
  const void* data;
  DType dtype;

  __device__ __forceinline__ float operator[](int i) const {
    if (data == nullptr) return 0;
    if (dtype == DType::bf16) return static_cast<const bf16*>(data)[i];
    if (dtype == DType::f16) return static_cast<const f16*>(data)[i];
    if (dtype == DType::f64) return static_cast<float>(static_cast<const double*>(data)[i]);
    return static_cast<const float*>(data)[i];
  }
};

struct LinearData {
  const float* x;
  AnyFloat norm_weight;
  AnyFloat norm_bias;
  const float* scales;
  AnyFloat bias;
  float* y;
};

__device__ float sum_block(float value, float* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += scratch[i];
  return sum;
}

// The rows of x after the norm, in shared memory.
__device__ void load_normed(const LinearShape& shape, const LinearData& data, float* rows,
                            float* scratch) {
  for (int i = threadIdx.x; i < shape.batch * shape.in; i += kBlock) rows[i] = data.x[i];
  if (shape.how.norm != DecodeNorm::none) {
    const float share = 1.0f / static_cast<float>(shape.in);
    for (int b = 0; b < shape.batch; ++b) {
      float* row = rows + b * shape.in;
      float mean = 0;
      if (shape.how.norm == DecodeNorm::layer) {
        float sum = 0;
        for (int i = threadIdx.x; i < shape.in; i += kBlock) sum += row[i];
        mean = sum_block(sum, scratch) * share;
      }
      float squares = 0;
      for (int i = threadIdx.x; i < shape.in; i += kBlock) {
        const float centred = row[i] - mean;
        squares += centred * centred;
      }
      const float scale = rsqrtf(sum_block(squares, scratch) * share + shape.how.epsilon);
      for (int i = threadIdx.x; i < shape.in; i += kBlock) {
        row[i] = (row[i] - mean) * scale * data.norm_weight[i] + data.norm_bias[i];
      }
    }
  }
  __syncthreads();
}

template <class W>
__device__ void prefetch_row(const W* weight, int in, int lane) {
  const char* first = reinterpret_cast<const char*>(weight);
  constexpr int kLine = 128;
  for (int at = lane * kLine; at < in * static_cast<int>(sizeof(W)); at += 32 * kLine) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(first + at));
  }
}

// The products of one row of weights with all rows of x: the sum of product b in lane b.
template <int kVec, int kBatch, class W>
__device__ float multiply_row(const W* weight, const float* rows, const LinearShape& shape,
                              int lane) {
  float sums[kBatch] = {};
#pragma unroll 4
  for (int at = lane * kVec; at < shape.in; at += 32 * kVec) {
    const auto vector = load_vector<kVec>(weight + at);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const float w = static_cast<float>(vector.value[i]);
#pragma unroll
      for (int b = 0; b < kBatch; ++b) sums[b] += w * rows[b * shape.in + at + i];
    }
  }
  float mine = 0;
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      sums[b] += __shfl_xor_sync(0xffffffffu, sums[b], mask);
    }
    if (lane == b) mine = sums[b];
  }
  return mine;
}

// A warp computes a row of the weights at a time.
template <int kVec, int kBatch, class W>
__global__ void __launch_bounds__(kBlock)
    linear_kernel(LinearShape shape, LinearData data, const W* weight) {
  extern __shared__ float rows[];
  __shared__ float scratch[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const bool gated = shape.how.activation == DecodeActivation::swiglu;
  start_next();
  if (first < shape.out) {
    prefetch_row(weight + std::int64_t{first} * shape.in, shape.in, lane);
    if (gated) prefetch_row(weight + std::int64_t{first + shape.out} * shape.in, shape.in, lane);
  }
  wait_for_previous();
  load_normed(shape, data, rows, scratch);
  for (int row = first; row < shape.out; row += static_cast<int>(gridDim.x) * kWarps) {
    const auto product = [&](int r) {
      const float sum =
          multiply_row<kVec, kBatch>(weight + std::int64_t{r} * shape.in, rows, shape, lane);
      return sum * (data.scales != nullptr ? data.scales[r] : 1.0f) + data.bias[r];
    };
    float value = product(row);
    if (gated) value = swiglu_of(value, product(row + shape.out));
    if (shape.how.activation == DecodeActivation::gelu) value = decode_gelu(value);
    if (lane >= shape.batch) continue;
    float& to = data.y[lane * shape.out + row];
    to = shape.how.adds ? to + value : value;
  }
}

template <int kVec, class W>
auto kernel_for(int batch) {
  if (batch == 1) return linear_kernel<kVec, 1, W>;
  if (batch == 2) return linear_kernel<kVec, 2, W>;
  return batch <= 4 ? linear_kernel<kVec, 4, W> : linear_kernel<kVec, 8, W>;
}

int padded_batch(int batch) { return batch <= 2 ? batch : batch <= 4 ? 4 : 8; }

template <class W>
void run(StreamView stream, const LinearShape& shape, const LinearData& data, const W* weight) {
  constexpr int kVec = static_cast<int>(16 / sizeof(W));
  const auto kernel = rows_align(shape.in, kVec, sizeof(W), weight)
                          ? kernel_for<kVec, W>(shape.batch)
                          : kernel_for<1, W>(shape.batch);
  // Rows beyond the batch are read as they are and not stored.
  const std::size_t shared = sizeof(float) * static_cast<std::size_t>(padded_batch(shape.batch)) *
                             static_cast<std::size_t>(shape.in);
  constexpr int kMostBlocks = 132 * 8;
  const int blocks = std::min((shape.out + kWarps - 1) / kWarps, kMostBlocks);
  launch(Launch("decode_linear", stream, dim3(static_cast<unsigned>(blocks)), dim3(kBlock), shared)
             .overlapping(),
         kernel, shape, data, weight);
}

AnyFloat any_float(const Operand& operand) { return {operand.data, operand.dtype}; }

}  // namespace

void decode_linear(StreamView stream, const DecodeLinear& how,
                   const DecodeLinearOperands& operands) {
  LinearShape shape{};
  shape.batch = static_cast<int>(operands.x.shape[0]);
  shape.in = static_cast<int>(operands.x.shape[1]);
  shape.out = static_cast<int>(operands.y.shape[1]);
  shape.how = how;
  LinearData data{};
  data.x = static_cast<const float*>(operands.x.data);
  data.norm_weight = any_float(operands.norm_weight);
  data.norm_bias = any_float(operands.norm_bias);
  data.scales = static_cast<const float*>(operands.scales.data);
  data.bias = any_float(operands.bias);
  data.y = static_cast<float*>(operands.y.data);
  if (operands.weight.dtype == DType::i8) {
    return run(stream, shape, data, static_cast<const std::int8_t*>(operands.weight.data));
  }
  dispatch_floating(operands.weight.dtype, [&](auto tag) {
    using W = typename decltype(tag)::type;
    run(stream, shape, data, static_cast<const W*>(operands.weight.data));
  });
}

}  // namespace causeway::kernels::cuda
