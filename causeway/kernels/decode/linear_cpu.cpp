// The product of a matrix with one vector on the CPU. Bytes: the weights once. Bound by memory.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/loop_cpu.h"

#include <cmath>
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

template <class W>
void multiply(const DecodeLinear& how, const DecodeLinearOperands& ops) {
  const std::vector<float> x = normed(how, ops);
  const auto in = static_cast<std::int64_t>(x.size());
  const std::int64_t out = ops.y.shape[0];
  const auto* weight = static_cast<const W*>(ops.weight.data);
  const auto* scales = static_cast<const float*>(ops.scales.data);
  auto* y = static_cast<float*>(ops.y.data);
  const auto product = [&](std::int64_t row) {
    const float sum = dot(x.data(), weight + row * in, in);
    return sum * (scales != nullptr ? scales[row] : 1.0f) + value_at(ops.bias, row);
  };
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, in));
  parallel_for(out, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float value = product(row);
      if (how.activation == DecodeActivation::gelu) value = decode_gelu(value);
      if (how.activation == DecodeActivation::gated_silu)
        value = swiglu_of(value, product(row + out));
      y[row] = how.adds ? y[row] + value : value;
    }
  });
}

}  // namespace

void decode_linear(const DecodeLinear& how, const DecodeLinearOperands& operands) {
  if (operands.weight.dtype == DType::i8) return multiply<std::int8_t>(how, operands);
  dispatch_floating(operands.weight.dtype,
                    [&](auto tag) { multiply<typename decltype(tag)::type>(how, operands); });
}

}  // namespace causeway::kernels::cpu
