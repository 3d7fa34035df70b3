// Arithmetic of text generation, shared by CPU and GPU.
#pragma once

#include "causeway/kernels/activation/swiglu_device.h"
#include "causeway/kernels/math_device.h"
#include "causeway/random/elementary.h"

#include <cstdint>
#include <cstring>

namespace causeway::kernels {

CAUSEWAY_HOST_DEVICE float decode_gelu(float x) {
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + math::tanh(inner));
}

// Orders floats as unsigned integers; NaN is the smallest.
CAUSEWAY_HOST_DEVICE std::uint32_t ordered_key(float value) {
  if (value != value) return 0;
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The float with this key; NaN for 0.
CAUSEWAY_HOST_DEVICE float value_of_key(std::uint32_t key) {
  const std::uint32_t bits = (key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// A probability, up to a common factor, as an integer: sums of integers do not depend on the order.
// Equal on CPU and GPU, so that both draw the same tokens.
inline constexpr float kMassOfLargest = 1073741824.0f;  // 2^30

CAUSEWAY_HOST_DEVICE std::uint64_t mass_of(float logit, float largest, float inverse_temperature) {
  // NaN becomes the bound, whose mass is 0.
  const float x = elementary::at_least((logit - largest) * inverse_temperature, -87.0f);
  const float mass = kMassOfLargest * elementary::exp_within(x);
  return mass >= 0.0f && mass <= kMassOfLargest ? static_cast<std::uint64_t>(mass) : 0;
}

// A number in [0, total), from 64 random bits.
CAUSEWAY_HOST_DEVICE std::uint64_t scaled_draw(std::uint64_t bits, std::uint64_t total) {
  const std::uint64_t high = bits >> 32;
  const std::uint64_t low = bits & 0xffffffffu;
  const std::uint64_t total_high = total >> 32;
  const std::uint64_t total_low = total & 0xffffffffu;
  const std::uint64_t middle =
      (low * total_low >> 32) + (low * total_high & 0xffffffffu) + (high * total_low & 0xffffffffu);
  return high * total_high + (low * total_high >> 32) + (high * total_low >> 32) + (middle >> 32);
}

}  // namespace causeway::kernels
