// Rounding to 8-bit integers and back, shared by CPU and GPU.
#pragma once

#include "causeway/kernels/math_device.h"

#include <cstdint>
#include <cstring>

namespace causeway::kernels {

inline constexpr float kLargestInt8 = 127.0f;

// The bits of |value|. As integers they are ordered like magnitudes, NaN above infinity.
CAUSEWAY_HOST_DEVICE std::uint32_t magnitude_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits & 0x7fffffffu;
}

CAUSEWAY_HOST_DEVICE float magnitude_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// value / scale, to the nearest integer up to `limit`, ties to even. A quotient exceeds the limit
// if the scale is subnormal, and therefore has few bits. A row of zeros has a scale of 0.
CAUSEWAY_HOST_DEVICE float rounded_quotient(float value, float scale, float limit) {
  const float rounded = math::rint(value / (scale > 0.0f ? scale : 1.0f));
  const float low = rounded > -limit ? rounded : -limit;
  return low < limit ? low : limit;
}

// An element of a product, from the exact sum.
CAUSEWAY_HOST_DEVICE float scaled_sum(std::int32_t sum, float x_scale, float weight_scale,
                                      float bias) {
  return static_cast<float>(sum) * (x_scale * weight_scale) + bias;
}

}  // namespace causeway::kernels
