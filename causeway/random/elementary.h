// exp, log, sin, cos, tanh and erf in f32, from IEEE additions, multiplications, divisions and
// fused multiply-adds in a fixed order. The bits are equal on every CPU and GPU (the build disables
// contraction in files that need this), within 2 ulp. The functions have no branches, so loops over
// them vectorise. The coefficients are our own minimax fits.
#pragma once

#include "causeway/core/host_device.h"

#if !defined(__CUDACC_RTC__)
#include <cstdint>
#include <cstring>
#endif

namespace causeway::elementary {

CAUSEWAY_HOST_DEVICE float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

CAUSEWAY_HOST_DEVICE float square_root(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

CAUSEWAY_HOST_DEVICE std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

CAUSEWAY_HOST_DEVICE float from_bits(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

CAUSEWAY_HOST_DEVICE float magnitude(float x) {
#if defined(__CUDA_ARCH__)
  return fabsf(x);
#else
  return __builtin_fabsf(x);
#endif
}

// x clamped to a bound; the bound if x is NaN. On Arm the instruction is requested explicitly: from
// a conditional the compiler first generates branches, which keep loops from vectorising well.
CAUSEWAY_HOST_DEVICE float at_most(float x, float bound) {
#if defined(__aarch64__) && !defined(__CUDA_ARCH__)
  return __builtin_fminf(x, bound);
#else
  return x < bound ? x : bound;
#endif
}

CAUSEWAY_HOST_DEVICE float at_least(float x, float bound) {
#if defined(__aarch64__) && !defined(__CUDA_ARCH__)
  return __builtin_fmaxf(x, bound);
#else
  return x > bound ? x : bound;
#endif
}

// x + 1.5 * 2^23, for |x| < 2^22: the rounding of the sum gives the nearest integer (ties to even),
// which is in the low bits. Subtracting the constant gives it as a float.
inline constexpr float kShift = 12582912.0f;

CAUSEWAY_HOST_DEVICE float shifted(float x) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(x, kShift);
#else
  return x + kShift;
#endif
}

CAUSEWAY_HOST_DEVICE float nearest(float x) { return shifted(x) - kShift; }

// 2^n for n in [-126, 127]; the last nine bits of the argument are n.
CAUSEWAY_HOST_DEVICE float power_of_two(std::uint32_t n) {
  return from_bits((n << 23) + 0x3f800000u);
}

// exp(r) for |r| <= ln 2 / 2.
CAUSEWAY_HOST_DEVICE float exp_near_zero(float r) {
  float p = 1.99163362e-4f;
  p = fma(p, r, 1.39462308e-3f);
  p = fma(p, r, 8.33326858e-3f);
  p = fma(p, r, 4.16662693e-2f);
  p = fma(p, r, 1.66666672e-1f);
  p = fma(p, r, 0.5f);
  return fma(p, r * r, r) + 1.0f;
}

// exp(x) for |x| <= 87, where the result is a normal number.
CAUSEWAY_HOST_DEVICE float exp_within(float x) {
  const float place = shifted(x * 1.44269504f);
  const float n = place - kShift;
  const float r = fma(n, 2.12194442e-4f, fma(n, -0.693359375f, x));
  return exp_near_zero(r) * power_of_two(bits_of(place));
}

// 2^x for |x| <= 126.
CAUSEWAY_HOST_DEVICE float exp2_within(float x) {
  const float place = shifted(x);
  const float r = (x - (place - kShift)) * 0.693147181f;
  return exp_near_zero(r) * power_of_two(bits_of(place));
}

CAUSEWAY_HOST_DEVICE float exp(float x) {
  // x = n ln 2 + r with |r| <= ln 2 / 2; x is clamped where the result is 0 or infinite.
  const float clamped = at_most(at_least(x, -104.0f), 89.0f);
  const float place = shifted(clamped * 1.44269504f);
  const float n = place - kShift;
  const float r = fma(n, 2.12194442e-4f, fma(n, -0.693359375f, clamped));
  // Two factors, since 2^n alone may be subnormal or overflow before the product does.
  const std::uint32_t half = bits_of(shifted(n * 0.5f));
  const float result = exp_near_zero(r) * power_of_two(half) * power_of_two(bits_of(place) - half);
  return x != x ? x : result;
}

// The logarithm of a positive normal number: x = m 2^e with m in [sqrt(1/2), sqrt(2)).
CAUSEWAY_HOST_DEVICE float log_of_normal(float x) {
  const std::uint32_t shifted = bits_of(x) - 0x3f3504f3u;  // sqrt(1/2)
  const auto e = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const float f = from_bits((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 6.91525936e-2f;
  p = fma(p, f, -1.17897525e-1f);
  p = fma(p, f, 1.18729956e-1f);
  p = fma(p, f, -1.23843595e-1f);
  p = fma(p, f, 1.42186567e-1f);
  p = fma(p, f, -1.66692495e-1f);
  p = fma(p, f, 2.00022265e-1f);
  p = fma(p, f, -2.49999866e-1f);
  p = fma(p, f, 3.33333105e-1f);
  const float f2 = f * f;
  float low = fma(p * f, f2, e * -2.12194442e-4f);
  low = fma(f2, -0.5f, low);
  return fma(e, 0.693359375f, f + low);
}

CAUSEWAY_HOST_DEVICE float log(float x) {
  const bool tiny = x < 1.17549435e-38f;  // subnormals are scaled up first
  const float scaled = log_of_normal(tiny ? x * 8388608.0f : x);
  const float result = tiny ? fma(-23.0f, 0.693147181f, scaled) : scaled;
  const float inf = from_bits(0x7f800000u);
  const float at_ends = x == 0.0f ? -inf : (x < 0.0f ? from_bits(0x7fc00000u) : x);
  return (x > 0.0f && x < inf) ? result : at_ends;
}

// sin and cos on |r| <= pi/4.
CAUSEWAY_HOST_DEVICE float sin_near_zero(float r) {
  const float z = r * r;
  float p = 2.71823706e-6f;
  p = fma(p, z, -1.98393274e-4f);
  p = fma(p, z, 8.33332911e-3f);
  p = fma(p, z, -1.66666672e-1f);
  return fma(p * z, r, r);
}

CAUSEWAY_HOST_DEVICE float cos_near_zero(float r) {
  const float z = r * r;
  float p = -2.72095434e-7f;
  p = fma(p, z, 2.47995122e-5f);
  p = fma(p, z, -1.38888834e-3f);
  p = fma(p, z, 4.16666679e-2f);
  return fma(p * z, z, fma(z, -0.5f, 1.0f));
}

// The sine of r + quarter * pi/2; the cosine uses the next quarter.
CAUSEWAY_HOST_DEVICE float sin_of_quarter(float r, std::int32_t quarter) {
  const float value = (quarter & 1) != 0 ? cos_near_zero(r) : sin_near_zero(r);
  return (quarter & 2) != 0 ? -value : value;
}

// Arguments up to this limit are accurate; the tensor functions use the C library beyond it.
inline constexpr float kTrigonometryLimit = 30000.0f;

CAUSEWAY_HOST_DEVICE float reduce_angle(float x, std::int32_t& quarter) {
  const float n = nearest(x * 0.636619772f);
  quarter = static_cast<std::int32_t>(n);
  float r = fma(n, -1.57079625f, x);  // pi/2 in three parts
  r = fma(n, -7.54978942e-8f, r);
  return fma(n, -5.39030253e-15f, r);
}

CAUSEWAY_HOST_DEVICE float sin(float x) {
  std::int32_t quarter;
  const float r = reduce_angle(x, quarter);
  return x == 0.0f ? x : sin_of_quarter(r, quarter);  // preserves -0
}

CAUSEWAY_HOST_DEVICE float cos(float x) {
  std::int32_t quarter;
  const float r = reduce_angle(x, quarter);
  return sin_of_quarter(r, quarter + 1);
}

// sin and cos of `turns` full turns, turns in [0, 1).
CAUSEWAY_HOST_DEVICE void sincos_turns(float turns, float& sine, float& cosine) {
  const float n = nearest(turns * 4.0f);
  const float r = fma(turns, 4.0f, -n) * 1.57079633f;
  const auto quarter = static_cast<std::int32_t>(n);
  sine = sin_of_quarter(r, quarter);
  cosine = sin_of_quarter(r, quarter + 1);
}

// |x| = n ln 2 + y, and with s = 4^n and t = tanh(y) the result is (s - 1 + (s + 1) t) /
// (s + 1 + (s - 1) t). n is 0 as long as the result is below 1/2, and then the result is t itself.
CAUSEWAY_HOST_DEVICE float tanh(float x) {
  const std::uint32_t sign = bits_of(x) & 0x80000000u;
  const float a = at_most(magnitude(x), 9.02f);  // above it the result rounds to 1
  const float place = shifted(fma(a, 1.44269504f, -0.2925f));
  const float n = place - kShift;
  const float y = fma(n, 2.12194442e-4f, fma(n, -0.693359375f, a));
  const float z = y * y;
  float p = 1.63966751e-2f;
  p = fma(p, z, -5.26508652e-2f);
  p = fma(p, z, 1.33204076e-1f);
  p = fma(p, z, -3.33329333e-1f);
  const float t = fma(p * z, y, y);
  const float s = power_of_two(bits_of(place) << 1);
  const float divisor = fma(s - 1.0f, t, s + 1.0f);
  // Uses the rounded divisor, so that its error nearly cancels where the quotient is close to 1.
  const float dividend = fma(2.0f, t, divisor - 2.0f);
  const float result = from_bits(bits_of(dividend / divisor) | sign);
  return x != x ? x : result;
}

CAUSEWAY_HOST_DEVICE float erf(float x) {
  const std::uint32_t sign = bits_of(x) & 0x80000000u;
  const float a = magnitude(x);
  const float z = x * x;
  float p = -9.68013046e-6f;
  p = fma(p, z, 1.12705427e-4f);
  p = fma(p, z, -8.48471129e-4f);
  p = fma(p, z, 5.22107491e-3f);
  p = fma(p, z, -2.68654451e-2f);
  p = fma(p, z, 1.12837829e-1f);
  p = fma(p, z, -3.76126379e-1f);
  p = fma(p, z, 3.37916706e-3f);
  const float near_zero = fma(p, x, 1.125f * x);
  // For larger |x|, erfc(a) = exp(-q(a)); from 4 on the result rounds to 1.
  const float b = at_most(a, 4.0f);
  float q = 2.16977987e-5f;
  q = fma(q, b, -4.41474869e-4f);
  q = fma(q, b, 4.20529628e-3f);
  q = fma(q, b, -2.52103712e-2f);
  q = fma(q, b, 1.08422153e-1f);
  q = fma(q, b, 6.33216321e-1f);
  q = fma(q, b, 1.12958038f);
  q = fma(q, b, -1.88473321e-4f);
  const float far = from_bits(bits_of(1.0f - exp_within(-q)) | sign);
  const float result = a < 1.0f ? near_zero : far;
  return x != x ? x : result;
}

// The f64 functions needed for random numbers: log for positive normal numbers, and sin and cos of
// turns. Taylor series, accurate to the last bit or two.

CAUSEWAY_HOST_DEVICE double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

CAUSEWAY_HOST_DEVICE double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}

CAUSEWAY_HOST_DEVICE double log(double x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1).
  std::uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdull;
  const auto e = static_cast<double>(static_cast<std::int64_t>(shifted) >> 52);
  const std::uint64_t mantissa = (shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  double m;
  memcpy(&m, &mantissa, sizeof(m));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 23.0;
  for (int k = 21; k >= 3; k -= 2) p = fma(p, z, 1.0 / k);
  const double log_m = fma(2.0 * s * z, p, 2.0 * s);
  return fma(e, 0.693147180369123816490, fma(e, 1.90821492927058770002e-10, log_m));
}

CAUSEWAY_HOST_DEVICE void sincos_turns(double turns, double& sine, double& cosine) {
  constexpr double kWideShift = 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer
  const double n = fma(turns, 4.0, kWideShift) - kWideShift;
  const double r = fma(turns, 4.0, -n) * 1.57079632679489661923;
  const double z = r * r;
  double s = 1.0;
  double c = 1.0;
  for (int k = 18; k >= 2; k -= 2) {
    s = fma(s * z, -1.0 / (k * (k + 1)), 1.0);
    c = fma(c * z, -1.0 / (k * (k - 1)), 1.0);
  }
  s *= r;
  const auto quarter = static_cast<std::int32_t>(n);
  const double first = (quarter & 1) != 0 ? c : s;
  const double second = (quarter & 1) != 0 ? s : c;
  sine = (quarter & 2) != 0 ? -first : first;
  cosine = ((quarter + 1) & 2) != 0 ? -second : second;
}

}  // namespace causeway::elementary
