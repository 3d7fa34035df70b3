// Elementary functions of the compute types: the GPU's own on a GPU, vectorisable ones of ours for
// f32 on a CPU, the C library's for f64. Close values, not the same bits.
#pragma once

#include "causeway/core/host_device.h"
#include "causeway/random/elementary.h"

#include <cmath>

namespace causeway::math {

#if defined(__CUDA_ARCH__)
#define CAUSEWAY_F32(ours, gpus) gpus
#else
#define CAUSEWAY_F32(ours, gpus) ours
#endif

CAUSEWAY_HOST_DEVICE float exp(float x) { return CAUSEWAY_F32(elementary::exp(x), ::expf(x)); }
CAUSEWAY_HOST_DEVICE float log(float x) { return CAUSEWAY_F32(elementary::log(x), ::logf(x)); }
CAUSEWAY_HOST_DEVICE float tanh(float x) { return CAUSEWAY_F32(elementary::tanh(x), ::tanhf(x)); }
CAUSEWAY_HOST_DEVICE float erf(float x) { return CAUSEWAY_F32(elementary::erf(x), ::erff(x)); }
CAUSEWAY_HOST_DEVICE float log2(float x) {
  return CAUSEWAY_F32(elementary::log(x) * 1.44269504f, ::log2f(x));
}
#undef CAUSEWAY_F32

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
