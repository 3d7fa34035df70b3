// Random numbers of one attempt at one dataset. A draw is addressed by a site (which random object
// of the program it belongs to) and two counters. There is no state, so any thread can compute any
// draw in any order.
#pragma once

#include "causeway/random/distributions.h"

namespace causeway::prior {

using elementary::at_least;
using elementary::at_most;

CAUSEWAY_HOST_DEVICE int at_most(int x, int bound) { return x < bound ? x : bound; }

CAUSEWAY_HOST_DEVICE float clamped(float x, float low, float high) {
  return at_most(at_least(x, low), high);
}

// x^p for x >= 0.
CAUSEWAY_HOST_DEVICE float power(float x, float p) {
  const float result = elementary::exp(p * elementary::log(x));
  return x > 0.0f ? result : 0.0f;
}

inline constexpr float kFarthestAngle = 6.0e6f;  // limit of the range reduction

// Sine with an absolute error of 1e-7, in half the instructions of elementary::sin.
CAUSEWAY_HOST_DEVICE float sin_within(float x) {
  const float place = elementary::shifted(x * 0.318309886f);
  const float n = place - elementary::kShift;
  float r = elementary::fma(n, -3.14159274f, x);  // pi in two parts
  r = elementary::fma(n, 8.74227766e-8f, r);
  const float z = r * r;
  float p = 2.633695e-6f;
  p = elementary::fma(p, z, -1.9822418e-4f);
  p = elementary::fma(p, z, 8.33324e-3f);
  p = elementary::fma(p, z, -1.6666666e-1f);
  const float sine = elementary::fma(p * z, r, r);
  return elementary::from_bits(elementary::bits_of(sine) ^ (elementary::bits_of(place) << 31));
}

// Arguments beyond the range reduction are clamped; they have no accurate bits left.
CAUSEWAY_HOST_DEVICE float sin_of(float x) {
  return sin_within(clamped(x, -kFarthestAngle, kFarthestAngle));
}
CAUSEWAY_HOST_DEVICE float cos_of(float x) { return sin_of(x + 1.57079633f); }

// x^p for a normal x > 0, relative error 4e-6 for |p| <= 4, in half the instructions of power.
CAUSEWAY_HOST_DEVICE float quick_power(float x, float p) {
  const std::uint32_t shifted = elementary::bits_of(x) - 0x3f3504f3u;  // sqrt(1/2)
  const auto e = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const float f = elementary::from_bits((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float q = 0.17613159f;
  q = elementary::fma(q, f, -0.27097297f);
  q = elementary::fma(q, f, 0.29510576f);
  q = elementary::fma(q, f, -0.35918522f);
  q = elementary::fma(q, f, 0.48064846f);
  q = elementary::fma(q, f, -0.7213677f);
  q = elementary::fma(q, f, 1.4426963f);
  const float log2 = clamped(p * elementary::fma(q, f, e), -125.0f, 125.0f);
  const float place = elementary::shifted(log2);
  const float r = log2 - (place - elementary::kShift);
  float t = 1.3410307e-3f;
  t = elementary::fma(t, r, 9.676269e-3f);
  t = elementary::fma(t, r, 5.5502962e-2f);
  t = elementary::fma(t, r, 2.4022102e-1f);
  t = elementary::fma(t, r, 6.9314724e-1f);
  t = elementary::fma(t, r, 1.0f);
  return t * elementary::power_of_two(elementary::bits_of(place));
}

// Floor.
CAUSEWAY_HOST_DEVICE float floor_of(float x) {
#if defined(__CUDA_ARCH__)
  return floorf(x);
#else
  return __builtin_floorf(x);
#endif
}

CAUSEWAY_HOST_DEVICE bool is_finite(float x) {
  return (elementary::bits_of(x) & 0x7f800000u) != 0x7f800000u;
}

// Uniform on (0, 1), ends excluded.
CAUSEWAY_HOST_DEVICE float open_uniform(std::uint32_t bits) {
  return (static_cast<float>(bits >> 9) + 0.5f) * 1.1920928955078125e-7f;
}

// Uniform on [0, range) for range < 2^31.
CAUSEWAY_HOST_DEVICE int bounded(std::uint32_t bits, int range) {
  return static_cast<int>((static_cast<std::uint64_t>(bits) * static_cast<std::uint32_t>(range)) >>
                          32);
}

// An index with probability proportional to its weight, from a uniform number. At least one weight
// is positive; an index of weight 0 is never drawn.
template <int n>
CAUSEWAY_HOST_DEVICE int weighted(float unit, const float (&weights)[n]) {
  float total = 0.0f;
  int last = 0;
  for (int k = 0; k < n; ++k) {
    total += weights[k];
    if (weights[k] > 0.0f) last = k;
  }
  float place = unit * total;
  int index = 0;
  while (index < last && place >= weights[index]) place -= weights[index++];
  return index;
}

// Four standard normal numbers.
CAUSEWAY_HOST_DEVICE void normals_of(const Bits128& bits, float (&values)[4]) {
  normal_pair_f32(bits.word[0], bits.word[1], values[0], values[1]);
  normal_pair_f32(bits.word[2], bits.word[3], values[2], values[3]);
}

// A Beta variate from the logarithms of two Gamma variates.
CAUSEWAY_HOST_DEVICE float beta_of(float log_a, float log_b) {
  return 1.0f / (1.0f + elementary::exp(clamped(log_b - log_a, -80.0f, 80.0f)));
}

struct Draws {
  std::uint32_t key0 = 0;
  std::uint32_t key1 = 0;
  std::uint32_t attempt = 0;

  // The key of dataset `index` of a seed.
  static CAUSEWAY_HOST_DEVICE Draws of(std::uint64_t seed, std::uint64_t index) {
    constexpr std::uint64_t kDatasets = 0x6461746173657473ull;  // the stream's name in ASCII
    const Bits128 bits = philox(seed, kDatasets, index);
    return {bits.word[0], bits.word[1], 0};
  }

  CAUSEWAY_HOST_DEVICE Bits128 bits(std::uint32_t site, std::uint32_t a,
                                    std::uint32_t b = 0) const {
    return philox(Bits128{{a, b, site, attempt}}, key0, key1);
  }
  CAUSEWAY_HOST_DEVICE_CALL float uniform(std::uint32_t site, std::uint32_t a,
                                          std::uint32_t b = 0) const {
    return open_uniform(bits(site, a, b).word[0]);
  }
  CAUSEWAY_HOST_DEVICE_CALL float normal(std::uint32_t site, std::uint32_t a,
                                         std::uint32_t b = 0) const {
    const Bits128 drawn = bits(site, a, b);
    float first, second;
    normal_pair_f32(drawn.word[0], drawn.word[1], first, second);
    return first;
  }

  // The logarithm of a Gamma(shape, 1) variate (Marsaglia and Tsang; for shape < 1 by the usual
  // power of a uniform, in logarithms so that it does not underflow).
  CAUSEWAY_HOST_DEVICE_CALL float log_gamma(float shape, std::uint32_t site,
                                            std::uint32_t a) const {
    const float boosted = shape < 1.0f ? shape + 1.0f : shape;
    const float d = boosted - 1.0f / 3.0f;
    const float c = 1.0f / elementary::square_root(9.0f * d);
    float result = elementary::log(d);  // if no try is accepted, which has negligible probability
    float boost = 0.0f;
    for (std::uint32_t round = 0; round < 64; ++round) {
      const Bits128 drawn = bits(site, a, round);
      if (round == 0) boost = elementary::log(open_uniform(drawn.word[3]));
      float x, unused;
      normal_pair_f32(drawn.word[0], drawn.word[1], x, unused);
      const float base = elementary::fma(c, x, 1.0f);
      if (base <= 0.0f) continue;
      const float v = base * base * base;
      const float limit = 0.5f * x * x + d - d * v + d * elementary::log(v);
      if (elementary::log(open_uniform(drawn.word[2])) >= limit) continue;
      result = elementary::log(d * v);
      break;
    }
    return shape < 1.0f ? result + boost / shape : result;
  }

  CAUSEWAY_HOST_DEVICE_CALL float beta(float a, float b, std::uint32_t site,
                                       std::uint32_t at) const {
    const float log_a = log_gamma(at_least(a, 1e-6f), site, 2 * at);
    const float log_b = log_gamma(at_least(b, 1e-6f), site, 2 * at + 1);
    return beta_of(log_a, log_b);
  }
};

}  // namespace causeway::prior
