// Elementary functions on compute types: CUDA's on a GPU, our vectorisable ones for f32 on a CPU,
// the C library's for f64. Results agree closely, not in all bits.
#pragma once

#include "causeway/core/host_device.h"
#include "causeway/random/elementary.h"

#include <cmath>

namespace causeway::math {

#if defined(__CUDA_ARCH__)
#define CAUSEWAY_F32(cpu, gpu) gpu
#else
#define CAUSEWAY_F32(cpu, gpu) cpu
#endif

CAUSEWAY_HOST_DEVICE float exp(float x) { return CAUSEWAY_F32(elementary::exp(x), ::expf(x)); }
CAUSEWAY_HOST_DEVICE float log(float x) { return CAUSEWAY_F32(elementary::log(x), ::logf(x)); }
CAUSEWAY_HOST_DEVICE float tanh(float x) { return CAUSEWAY_F32(elementary::tanh(x), ::tanhf(x)); }
CAUSEWAY_HOST_DEVICE float erf(float x) { return CAUSEWAY_F32(elementary::erf(x), ::erff(x)); }
CAUSEWAY_HOST_DEVICE float log2(float x) {
  return CAUSEWAY_F32(elementary::log(x) * 1.44269504f, ::log2f(x));
}
#undef CAUSEWAY_F32

// 2^x, if the result is a normal number.
CAUSEWAY_HOST_DEVICE float exp2_within(float x) {
#if defined(__CUDA_ARCH__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return elementary::exp2_within(x);
#endif
}

// GELU, x * Phi(x), with an error of at most 1e-7 |x|. Near zero it is x / 2 plus an even
// polynomial; for larger |x| it is max(x, 0) - |x| * (1 - Phi(|x|)), with the tail as a power of
// two. Two polynomials cost less than selecting coefficients of one.
CAUSEWAY_HOST_DEVICE float gelu(float x) {
  const float z = x * x;
  float s = -5.71567050e-6f;
  s = elementary::fma(s, z, 1.05934602e-4f);
  s = elementary::fma(s, z, -1.17515709e-3f);
  s = elementary::fma(s, z, 9.96583611e-3f);
  s = elementary::fma(s, z, -6.64882635e-2f);
  s = elementary::fma(s, z, 3.98942114e-1f);
  const float near_zero = elementary::fma(s, z, 0.5f * x);
  const float magnitude = elementary::magnitude(x);
  const float a = elementary::at_most(magnitude, 12.0f);  // beyond it the tail is 0
  float p = -1.87496808e-4f;
  p = elementary::fma(p, a, 4.08325992e-3f);
  p = elementary::fma(p, a, -3.95098811e-2f);
  p = elementary::fma(p, a, -4.84796011e-1f);
  p = elementary::fma(p, a, -1.12617459f);
  p = elementary::fma(p, a, -1.00970234f);
  const float far = elementary::fma(-a, exp2_within(p), elementary::at_least(x, 0.0f));
  return magnitude >= 1.5f ? far : near_zero;  // NaN takes near_zero
}

CAUSEWAY_HOST_DEVICE float sin(float x) { return ::sinf(x); }
CAUSEWAY_HOST_DEVICE float cos(float x) { return ::cosf(x); }
CAUSEWAY_HOST_DEVICE float tan(float x) { return ::tanf(x); }
CAUSEWAY_HOST_DEVICE float expm1(float x) { return ::expm1f(x); }
CAUSEWAY_HOST_DEVICE float log1p(float x) { return ::log1pf(x); }
CAUSEWAY_HOST_DEVICE float sqrt(float x) { return ::sqrtf(x); }
CAUSEWAY_HOST_DEVICE float pow(float x, float y) { return ::powf(x, y); }
CAUSEWAY_HOST_DEVICE float fmod(float x, float y) { return ::fmodf(x, y); }
CAUSEWAY_HOST_DEVICE float floor(float x) { return ::floorf(x); }
CAUSEWAY_HOST_DEVICE float ceil(float x) { return ::ceilf(x); }
CAUSEWAY_HOST_DEVICE float trunc(float x) { return ::truncf(x); }
CAUSEWAY_HOST_DEVICE float rint(float x) { return ::rintf(x); }

CAUSEWAY_HOST_DEVICE double exp(double x) { return ::exp(x); }
CAUSEWAY_HOST_DEVICE double log(double x) { return ::log(x); }
CAUSEWAY_HOST_DEVICE double log2(double x) { return ::log2(x); }
CAUSEWAY_HOST_DEVICE double tanh(double x) { return ::tanh(x); }
CAUSEWAY_HOST_DEVICE double erf(double x) { return ::erf(x); }
CAUSEWAY_HOST_DEVICE double gelu(double x) {
  return 0.5 * x * (1.0 + ::erf(x * 0.70710678118654752440));
}
CAUSEWAY_HOST_DEVICE double sin(double x) { return ::sin(x); }
CAUSEWAY_HOST_DEVICE double cos(double x) { return ::cos(x); }
CAUSEWAY_HOST_DEVICE double tan(double x) { return ::tan(x); }
CAUSEWAY_HOST_DEVICE double expm1(double x) { return ::expm1(x); }
CAUSEWAY_HOST_DEVICE double log1p(double x) { return ::log1p(x); }
CAUSEWAY_HOST_DEVICE double sqrt(double x) { return ::sqrt(x); }
CAUSEWAY_HOST_DEVICE double pow(double x, double y) { return ::pow(x, y); }
CAUSEWAY_HOST_DEVICE double fmod(double x, double y) { return ::fmod(x, y); }
CAUSEWAY_HOST_DEVICE double floor(double x) { return ::floor(x); }
CAUSEWAY_HOST_DEVICE double ceil(double x) { return ::ceil(x); }
CAUSEWAY_HOST_DEVICE double trunc(double x) { return ::trunc(x); }
CAUSEWAY_HOST_DEVICE double rint(double x) { return ::rint(x); }

}  // namespace causeway::math
