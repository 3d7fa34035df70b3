// Powers of two, for exponentials whose argument is already scaled by log2(e): a third less work
// than exp, in vectorisable loops.
#pragma once

#include "causeway/kernels/math_device.h"
#include "causeway/random/elementary.h"

namespace causeway::kernels::cpu {

inline constexpr double kLog2OfE = 1.44269504088896340736;
inline constexpr double kLogOf2 = 0.69314718055994530942;

// 2^x for |x| <= 125, with an error of 2e-7: x = n + f with |f| <= 1/2; n is added to the exponent
// of a polynomial in f.
CAUSEWAY_HOST_DEVICE float power_of_two_within(float x) {
  const float place = elementary::shifted(x);
  const float f = x - (place - elementary::kShift);
  // Terms in pairs: shorter dependency chains, and fewer copies of constants.
  const float squared = f * f;
  const float high = elementary::fma(1.32647273e-3f, f, 9.67151299e-3f);
  const float middle = elementary::fma(5.55073358e-2f, f, 2.40222424e-1f);
  const float low = elementary::fma(6.93147004e-1f, f, 1.0f);
  const float p = elementary::fma(elementary::fma(high, squared, middle), squared, low);
  return elementary::from_bits(elementary::bits_of(p) + (elementary::bits_of(place) << 23));
}

// For x up to about 0; results are at least 2^-125.
CAUSEWAY_HOST_DEVICE float power_of_two(float x) {
  const float result = power_of_two_within(elementary::at_least(x, -125.0f));
  return x != x ? x : result;
}
CAUSEWAY_HOST_DEVICE double power_of_two(double x) { return math::exp(x * kLogOf2); }

}  // namespace causeway::kernels::cpu
