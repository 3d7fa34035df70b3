// Random bits to numbers, bit-identical on every device.
#pragma once

#include "causeway/random/elementary.h"
#include "causeway/random/philox.h"

namespace causeway {

// [0, 1), a multiple of 2^-24.
CAUSEWAY_HOST_DEVICE float uniform_f32(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 5.9604644775390625e-8f;
}

// [0, 1), a multiple of 2^-53.
CAUSEWAY_HOST_DEVICE double uniform_f64(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 1.1102230246251565e-16;
}

// Two independent standard normal numbers (Box-Muller). The radius uses 32 bits, so the tails reach
// 6.6.
CAUSEWAY_HOST_DEVICE void normal_pair_f32(std::uint32_t radius_bits, std::uint32_t angle_bits,
                                          float& first, float& second) {
  const float u = (static_cast<float>(radius_bits) + 1.0f) * 2.3283064365386963e-10f;  // (0, 1]
  const float radius = elementary::square_root(-2.0f * elementary::log_of_normal(u));
  float sine, cosine;
  elementary::sincos_turns(uniform_f32(angle_bits), sine, cosine);
  first = radius * cosine;
  second = radius * sine;
}

CAUSEWAY_HOST_DEVICE void normal_pair_f64(const Bits128& bits, double& first, double& second) {
  const double u = 1.0 - uniform_f64(bits.word[0], bits.word[1]);  // (0, 1]
  const double radius = elementary::square_root(-2.0 * elementary::log(u));
  double sine, cosine;
  elementary::sincos_turns(uniform_f64(bits.word[2], bits.word[3]), sine, cosine);
  first = radius * cosine;
  second = radius * sine;
}

// Uniform in [0, range), with a bias of at most 2^-64 of the range: the high half of a 128-bit
// product.
CAUSEWAY_HOST_DEVICE std::uint64_t bounded_u64(std::uint32_t high, std::uint32_t low,
                                               std::uint64_t range) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
#if defined(__CUDA_ARCH__)
  return __umul64hi(bits, range);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * range) >> 64);
#endif
}

}  // namespace causeway
