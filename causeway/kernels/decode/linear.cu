// The product of a matrix with one vector. Bytes: the weights once. Bound by memory for large
// matrices and by latency for small ones: the first weights are loaded while the previous kernel
// ends, and warps do not wait for each other.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

constexpr int kWarps = 4;  // of a block

struct LinearData {
  int in;
  int out;
  DecodeLinear how;
  // Those that are not used are null.
  const float* x;
  const float* norm_weight;
  const float* norm_bias;
  const float* scales;
  const float* bias;
  float* y;

  __device__ __forceinline__ float normed(int i, float value, float mean, float scale) const {
    const float shift = norm_bias != nullptr ? norm_bias[i] : 0.0f;
    return (value - mean) * scale * norm_weight[i] + shift;
  }
  __device__ __forceinline__ float finished(float sum, int row) const {
    const float scaled = scales != nullptr ? sum * scales[row] : sum;
    return bias != nullptr ? scaled + bias[row] : scaled;
  }
  // Applies the activation, where `up` is the product of the second half with SwiGLU.
  __device__ __forceinline__ void store(int row, float value, float up) const {
    if (how.activation == DecodeActivation::gelu) value = decode_gelu(value);
    if (how.activation == DecodeActivation::gated_silu) value = swiglu_of(value, up);
    y[row] = how.adds ? y[row] + value : value;
  }
};

__device__ __forceinline__ float sum_warp(float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

// A lane holds vectors lane, lane + 32, ... of kVec elements of a row.
template <class T, int kVec, int kVectors>
struct LanePart {
  Vector<T, kVec> vectors[kVectors];

  __device__ __forceinline__ static int column(int lane, int v) { return (v * 32 + lane) * kVec; }

  __device__ __forceinline__ void load(const T* row, int in, int lane) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (column(lane, v) < in) {
        vectors[v] = load_vector<kVec>(row + column(lane, v));
      } else {
#pragma unroll
        for (int i = 0; i < kVec; ++i) vectors[v].value[i] = T(0);
      }
    }
  }
};

// The lane's part of x after the norm; zeros beyond the row.
template <int kVec, int kVectors>
__device__ void load_normed(const LinearData& data, int lane, float (&x)[kVectors][kVec]) {
  using Part = LanePart<float, kVec, kVectors>;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = Part::column(lane, v) + i;
      x[v][i] = at < data.in ? data.x[at] : 0.0f;
    }
  }
  if (data.how.norm == DecodeNorm::none) return;
  const float share = 1.0f / static_cast<float>(data.in);
  float mean = 0;
  if (data.how.norm == DecodeNorm::layer) {
    float sum = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) sum += x[v][i];
    }
    mean = sum_warp(sum) * share;
  }
  float squares = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (Part::column(lane, v) >= data.in) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) squares += (x[v][i] - mean) * (x[v][i] - mean);
  }
  const float scale = rsqrtf(sum_warp(squares) * share + data.how.epsilon);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = Part::column(lane, v);
    if (column >= data.in) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      x[v][i] = data.normed(column + i, x[v][i], mean, scale);
    }
  }
}

template <int kVec, int kVectors, class W>
__device__ __forceinline__ float dot(const LanePart<W, kVec, kVectors>& row,
                                     const float (&x)[kVectors][kVec]) {
  float sum = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += static_cast<float>(row.vectors[v].value[i]) * x[v][i];
  }
  return sum_warp(sum);
}

// A warp computes a row of the weights at a time, with x in registers.
template <int kVec, int kVectors, class W>
__global__ void __launch_bounds__(32 * kWarps) linear_kernel(LinearData data, const W* weight) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const bool gated = data.how.activation == DecodeActivation::gated_silu;
  LanePart<W, kVec, kVectors> part;
  start_next();
  if (first < data.out) part.load(weight + std::int64_t{first} * data.in, data.in, lane);
  wait_for_previous();
  float x[kVectors][kVec];
  load_normed<kVec, kVectors>(data, lane, x);
  for (int row = first; row < data.out; row += static_cast<int>(gridDim.x) * kWarps) {
    if (row != first) part.load(weight + std::int64_t{row} * data.in, data.in, lane);
    const float value = data.finished(dot(part, x), row);
    float up = 0;
    if (gated) {
      part.load(weight + std::int64_t{row + data.out} * data.in, data.in, lane);
      up = data.finished(dot(part, x), row + data.out);
    }
    if (lane == 0) data.store(row, value, up);
  }
}

// Rows of any length and alignment, element by element.
template <class W>
__global__ void __launch_bounds__(32 * kWarps) any_linear_kernel(LinearData data, const W* weight) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  start_next();
  wait_for_previous();
  const bool norms = data.how.norm != DecodeNorm::none;
  const float share = 1.0f / static_cast<float>(data.in);
  float mean = 0;
  if (data.how.norm == DecodeNorm::layer) {
    for (int i = lane; i < data.in; i += 32) mean += data.x[i];
    mean = sum_warp(mean) * share;
  }
  float squares = 0;
  for (int i = lane; norms && i < data.in; i += 32) {
    squares += (data.x[i] - mean) * (data.x[i] - mean);
  }
  const float scale = rsqrtf(sum_warp(squares) * share + data.how.epsilon);
  const auto product = [&](int row) {
    const W* from = weight + std::int64_t{row} * data.in;
    float sum = 0;
    for (int i = lane; i < data.in; i += 32) {
      const float x = norms ? data.normed(i, data.x[i], mean, scale) : data.x[i];
      sum += static_cast<float>(from[i]) * x;
    }
    return data.finished(sum_warp(sum), row);
  };
  int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  for (; row < data.out; row += static_cast<int>(gridDim.x) * kWarps) {
    const float value = product(row);
    const float up =
        data.how.activation == DecodeActivation::gated_silu ? product(row + data.out) : 0.0f;
    if (lane == 0) data.store(row, value, up);
  }
}

template <class W>
void run(StreamView stream, const LinearData& data, const W* weight) {
  constexpr int kMostBlocks = 132 * 8;
  const int blocks = std::min((data.out + kWarps - 1) / kWarps, kMostBlocks);
  const Launch how =
      Launch("decode_linear", stream, dim3(static_cast<unsigned>(blocks)), dim3(32 * kWarps))
          .overlapping();
  constexpr int kVec = static_cast<int>(16 / sizeof(W));
  constexpr int kShort = 32;  // elements of a lane
  constexpr int kLong = 128;
  const bool aligned = rows_align(data.in, kVec, sizeof(W), weight);
  if (aligned && data.in <= 32 * kShort) {
    launch(how, linear_kernel<kVec, kShort / kVec, W>, data, weight);
  } else if (aligned && data.in <= 32 * kLong) {
    launch(how, linear_kernel<kVec, kLong / kVec, W>, data, weight);
  } else {
    launch(how, any_linear_kernel<W>, data, weight);
  }
}

}  // namespace

void decode_linear(StreamView stream, const DecodeLinear& how,
                   const DecodeLinearOperands& operands) {
  LinearData data{};
  data.in = static_cast<int>(operands.x.shape[0]);
  data.out = static_cast<int>(operands.y.shape[0]);
  data.how = how;
  const auto floats = [](const Operand& from) { return static_cast<const float*>(from.data); };
  data.x = floats(operands.x);
  data.norm_weight = floats(operands.norm_weight);
  data.norm_bias = floats(operands.norm_bias);
  data.scales = floats(operands.scales);
  data.bias = floats(operands.bias);
  data.y = static_cast<float*>(operands.y.data);
  if (operands.weight.dtype == DType::i8) {
    return run(stream, data, static_cast<const std::int8_t*>(operands.weight.data));
  }
  dispatch_floating(operands.weight.dtype, [&](auto tag) {
    using W = typename decltype(tag)::type;
    run(stream, data, static_cast<const W*>(operands.weight.data));
  });
}

}  // namespace causeway::kernels::cuda
