// The product of a matrix with one vector. Bytes: the weights once. Bound by memory for large
// matrices and by latency for small ones: the first weights are loaded while the previous kernel
// ends, and warps do not wait for each other.
#include "causeway/kernels/decode/decode.h"

#include "causeway/core/error.h"
#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"

#include <string>

namespace causeway::kernels::cuda {

namespace {

constexpr int kWarps = 4;  // of a block

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
  int in;
  int out;
  DecodeLinear how;
  const float* x;
  AnyFloat norm_weight;
  AnyFloat norm_bias;
  const float* scales;
  AnyFloat bias;
  float* y;
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
      x[v][i] = (x[v][i] - mean) * scale * data.norm_weight[column + i] +
                data.norm_bias[column + i];
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
  const bool gated = data.how.activation == DecodeActivation::swiglu;
  LanePart<W, kVec, kVectors> part;
  start_next();
  if (first < data.out) part.load(weight + std::int64_t{first} * data.in, data.in, lane);
  wait_for_previous();
  float x[kVectors][kVec];
  load_normed<kVec, kVectors>(data, lane, x);
  for (int row = first; row < data.out; row += static_cast<int>(gridDim.x) * kWarps) {
    if (row != first) part.load(weight + std::int64_t{row} * data.in, data.in, lane);
    const auto finished = [&](float sum, int r) {
      return sum * (data.scales != nullptr ? data.scales[r] : 1.0f) + data.bias[r];
    };
    float value = finished(dot(part, x), row);
    if (gated) {
      part.load(weight + std::int64_t{row + data.out} * data.in, data.in, lane);
      value = swiglu_of(value, finished(dot(part, x), row + data.out));
    }
    if (data.how.activation == DecodeActivation::gelu) value = decode_gelu(value);
    if (lane == 0) data.y[row] = data.how.adds ? data.y[row] + value : value;
  }
}

// Rows of up to 32 * kVec * kVectors elements.
template <int kVec, class W>
void run(StreamView stream, const LinearData& data, const W* weight) {
  constexpr int kMostBlocks = 132 * 8;
  const int blocks = std::min((data.out + kWarps - 1) / kWarps, kMostBlocks);
  const Launch how = Launch("decode_linear", stream, dim3(static_cast<unsigned>(blocks)),
                            dim3(32 * kWarps))
                         .overlapping();
  constexpr int kShort = 32;  // elements of a lane
  constexpr int kLong = 128;
  constexpr int kLongest = 256;
  if (data.in <= 32 * kShort) {
    launch(how, linear_kernel<kVec, kShort / kVec, W>, data, weight);
  } else if (data.in <= 32 * kLong) {
    launch(how, linear_kernel<kVec, kLong / kVec, W>, data, weight);
  } else if (data.in <= 32 * kLongest) {
    launch(how, linear_kernel<kVec, kLongest / kVec, W>, data, weight);
  } else {
    fail(ErrorKind::invalid_argument, "decode_linear",
         "rows of " + std::to_string(data.in) + " elements; at most " +
             std::to_string(32 * kLongest) + " are supported on a GPU");
  }
}

AnyFloat any_float(const Operand& operand) { return {operand.data, operand.dtype}; }

}  // namespace

void decode_linear(StreamView stream, const DecodeLinear& how,
                   const DecodeLinearOperands& operands) {
  LinearData data{};
  data.in = static_cast<int>(operands.x.shape[0]);
  data.out = static_cast<int>(operands.y.shape[0]);
  data.how = how;
  data.x = static_cast<const float*>(operands.x.data);
  data.norm_weight = any_float(operands.norm_weight);
  data.norm_bias = any_float(operands.norm_bias);
  data.scales = static_cast<const float*>(operands.scales.data);
  data.bias = any_float(operands.bias);
  data.y = static_cast<float*>(operands.y.data);
  const auto choose = [&](auto tag) {
    using W = typename decltype(tag)::type;
    constexpr int kVec = static_cast<int>(16 / sizeof(W));
    const auto* weight = static_cast<const W*>(operands.weight.data);
    if (rows_align(data.in, kVec, sizeof(W), weight)) {
      run<kVec>(stream, data, weight);
    } else {
      run<1>(stream, data, weight);
    }
  };
  if (operands.weight.dtype == DType::i8) return choose(Tag<std::int8_t>());
  dispatch_floating(operands.weight.dtype, choose);
}

}  // namespace causeway::kernels::cuda
