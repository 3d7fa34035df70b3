// The values of a random fill, shared by CPU and GPU. A block of 128 random bits gives four f32,
// two f64 or two integers.
#pragma once

#include "causeway/random/distributions.h"

namespace causeway {

// Four numbers from one block.
struct UniformF32 {
  float low;
  float high;
  static constexpr int kPerBlock = 4;
  CAUSEWAY_HOST_DEVICE void operator()(const Bits128& bits, float* out) const {
    for (int i = 0; i < 4; ++i) {
      const float value = elementary::fma(uniform_f32(bits.word[i]), high - low, low);
      out[i] = value < high ? value : low;  // rounding may reach the excluded end
    }
  }
};

struct UniformF64 {
  double low;
  double high;
  static constexpr int kPerBlock = 2;
  CAUSEWAY_HOST_DEVICE void operator()(const Bits128& bits, double* out) const {
    for (int i = 0; i < 2; ++i) {
      const double unit = uniform_f64(bits.word[2 * i], bits.word[2 * i + 1]);
      const double value = elementary::fma(unit, high - low, low);
      out[i] = value < high ? value : low;
    }
  }
};

struct NormalF32 {
  float mean;
  float deviation;
  static constexpr int kPerBlock = 4;
  CAUSEWAY_HOST_DEVICE void operator()(const Bits128& bits, float* out) const {
    normal_pair_f32(bits.word[0], bits.word[1], out[0], out[1]);
    normal_pair_f32(bits.word[2], bits.word[3], out[2], out[3]);
    for (int i = 0; i < 4; ++i) out[i] = elementary::fma(out[i], deviation, mean);
  }
};

struct NormalF64 {
  double mean;
  double deviation;
  static constexpr int kPerBlock = 2;
  CAUSEWAY_HOST_DEVICE void operator()(const Bits128& bits, double* out) const {
    normal_pair_f64(bits, out[0], out[1]);
    for (int i = 0; i < 2; ++i) out[i] = elementary::fma(out[i], deviation, mean);
  }
};

struct Integers {
  std::int64_t low;
  std::uint64_t range;  // 0 for all 2^64 values
  static constexpr int kPerBlock = 2;
  CAUSEWAY_HOST_DEVICE void operator()(const Bits128& bits, std::int64_t* out) const {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t high = bits.word[2 * i];
      const std::uint32_t rest = bits.word[2 * i + 1];
      const std::uint64_t draw = range == 0 ? (static_cast<std::uint64_t>(high) << 32) | rest
                                            : bounded_u64(high, rest, range);
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw);
    }
  }
};

}  // namespace causeway
