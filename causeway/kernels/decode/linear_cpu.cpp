// The product of a matrix with one vector on the CPU. Bytes: the weights once. Bound by memory.
//
// With 8-bit weights the vector is rounded to 16 bits, in two digits of 8 bits, so that products
// are integer dot products. Compared with the weights, the rounding of the vector is negligible.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/int8/dot_cpu.h"
#include "causeway/kernels/int8/int8_device.h"
#include "causeway/kernels/loop_cpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

float value_at(const Operand& operand, std::int64_t i) {
  return operand.data != nullptr ? static_cast<const float*>(operand.data)[i] : 0.0f;
}

// x after the norm.
std::vector<float> normed(const DecodeLinear& how, const DecodeLinearOperands& ops) {
  const std::int64_t width = ops.x.shape[0];
  const auto* x = static_cast<const float*>(ops.x.data);
  std::vector<float> out(x, x + width);
  if (how.norm == DecodeNorm::none) return out;
  const auto count = static_cast<double>(width);
  double mean = 0;
  if (how.norm == DecodeNorm::layer) {
    for (const float value : out) mean += static_cast<double>(value) / count;
  }
  double variance = 0;
  for (const float value : out) {
    const double centred = static_cast<double>(value) - mean;
    variance += centred * centred / count;
  }
  const auto scale = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(how.epsilon)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    out[i] = (out[i] - static_cast<float>(mean)) * scale * value_at(ops.norm_weight, at) +
             value_at(ops.norm_bias, at);
  }
  return out;
}

// Several sums, so that additions do not wait for each other.
template <class W>
float dot(const float* x, const W* weight, std::int64_t count) {
  constexpr std::int64_t kLanes = 32;
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t j = 0; j < kLanes; ++j)
      sums[j] += x[i + j] * static_cast<float>(weight[i + j]);
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  for (; i < count; ++i) sum += x[i] * static_cast<float>(weight[i]);
  return sum;
}

// Stores an element of y; `second` is the product of the same row of the second half, for SwiGLU.
void store(const DecodeLinear& how, float value, float second, float& y) {
  if (how.activation == DecodeActivation::gelu) value = decode_gelu(value);
  if (how.activation == DecodeActivation::gated_silu) value = swiglu_of(value, second);
  y = how.adds ? y + value : value;
}

template <class W>
void multiply(const DecodeLinear& how, const DecodeLinearOperands& ops) {
  const std::vector<float> x = normed(how, ops);
  const auto in = static_cast<std::int64_t>(x.size());
  const std::int64_t out = ops.y.shape[0];
  const auto* weight = static_cast<const W*>(ops.weight.data);
  auto* y = static_cast<float*>(ops.y.data);
  const auto product = [&](std::int64_t row) {
    return dot(x.data(), weight + row * in, in) + value_at(ops.bias, row);
  };
  const bool gated = how.activation == DecodeActivation::gated_silu;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, in));
  parallel_for(out, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      store(how, product(row), gated ? product(row + out) : 0.0f, y[row]);
    }
  });
}

// A vector as integers of 16 bits: x = scale * (256 * high + low).
struct Digits {
  std::vector<std::int8_t> high, low;
  float scale = 0;

  explicit Digits(const std::vector<float>& x) : high(x.size()), low(x.size()) {
    constexpr float kLimit = 127 * 256;
    std::uint32_t largest = 0;
    for (const float value : x) largest = std::max(largest, magnitude_bits(value));
    scale = magnitude_of(largest) / kLimit;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto whole = static_cast<std::int32_t>(rounded_quotient(x[i], scale, kLimit));
      const std::int32_t upper = (whole + 128) >> 8;
      high[i] = static_cast<std::int8_t>(upper);
      low[i] = static_cast<std::int8_t>(whole - 256 * upper);
    }
  }
};

void multiply_int8(const DecodeLinear& how, const DecodeLinearOperands& ops) {
  const Digits x(normed(how, ops));
  const std::int64_t n_rows = ops.weight.shape[0];
  const std::int64_t n_columns = ops.weight.shape[1];
  const auto* weight = static_cast<const std::int8_t*>(ops.weight.data);
  const auto* scales = static_cast<const float*>(ops.scales.data);
  std::vector<float> products(static_cast<std::size_t>(n_rows));
  const auto run = int8_paths().front().multiply;
  Int8Tile shared{{}, {x.high.data(), x.low.data()}, {}, n_columns};
  shared.input_sums[0] = std::accumulate(x.high.begin(), x.high.end(), std::int32_t{0});
  shared.input_sums[1] = std::accumulate(x.low.begin(), x.low.end(), std::int32_t{0});
  const std::int64_t n_tiles = (n_rows + kTileWeights - 1) / kTileWeights;
  const std::int64_t grain = kGrain / std::max<std::int64_t>(1, n_columns) / kTileWeights + 1;
  parallel_for(n_tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    Int8Tile tile = shared;
    Int8Sums sums;
    for (std::int64_t row = begin * kTileWeights; row < std::min(end * kTileWeights, n_rows);
         row += kTileWeights) {
      for (std::int64_t w = 0; w < kTileWeights; ++w) {
        tile.weights[w] = weight + std::min(row + w, n_rows - 1) * n_columns;
      }
      run(tile, sums);
      for (std::int64_t w = 0; w < std::min<std::int64_t>(kTileWeights, n_rows - row); ++w) {
        const std::int64_t sum = std::int64_t{256} * sums[0][w] + sums[1][w];
        products[static_cast<std::size_t>(row + w)] =
            static_cast<float>(sum) * (x.scale * scales[row + w]) + value_at(ops.bias, row + w);
      }
    }
  });
  const std::int64_t out = ops.y.shape[0];
  auto* y = static_cast<float*>(ops.y.data);
  for (std::int64_t row = 0; row < out; ++row) {
    const std::int64_t second = n_rows > out ? row + out : row;
    store(how, products[static_cast<std::size_t>(row)], products[static_cast<std::size_t>(second)],
          y[row]);
  }
}

}  // namespace

void decode_linear(const DecodeLinear& how, const DecodeLinearOperands& operands) {
  if (operands.weight.dtype == DType::i8) return multiply_int8(how, operands);
  dispatch_floating(operands.weight.dtype,
                    [&](auto tag) { multiply<typename decltype(tag)::type>(how, operands); });
}

}  // namespace causeway::kernels::cpu
