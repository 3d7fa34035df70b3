// The two 16-bit floating types. They only convert, rounding to nearest even, identically on host
// and device; arithmetic is in f32.
#pragma once

#include "causeway/core/host_device.h"

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace causeway {

#if !defined(__CUDACC__)
// The compiler's own type: conversions are single instructions.
#if defined(__aarch64__) || defined(__clang__)
using NativeHalf = __fp16;
#else
using NativeHalf = _Float16;
#endif
#endif

struct f16 {
  std::uint16_t bits;

  f16() = default;
  CAUSEWAY_HOST_DEVICE f16(float value) {  // NOLINT: converts like a number
#if defined(__CUDACC__)
    bits = __half_as_ushort(__float2half_rn(value));
#else
    const auto half = static_cast<NativeHalf>(value);
    memcpy(&bits, &half, sizeof(bits));
#endif
  }
  CAUSEWAY_HOST_DEVICE operator float() const {  // NOLINT
#if defined(__CUDACC__)
    return __half2float(__ushort_as_half(bits));
#else
    NativeHalf half;
    memcpy(&half, &bits, sizeof(bits));
    return static_cast<float>(half);
#endif
  }
};

struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  CAUSEWAY_HOST_DEVICE bf16(float value) {  // NOLINT
#if defined(__CUDA_ARCH__)
    const __nv_bfloat16 rounded = __float2bfloat16_rn(value);
    memcpy(&bits, &rounded, sizeof(bits));
#else
    std::uint32_t word;
    memcpy(&word, &value, sizeof(word));
    const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    bits = static_cast<std::uint16_t>(value != value ? 0x7fffu : rounded);
#endif
  }
  CAUSEWAY_HOST_DEVICE operator float() const {  // NOLINT
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
  }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

// The type in which arithmetic on T is done: f32 for 16-bit floats, int for integers narrower than
// int.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<f16> {
  using type = float;
};
template <>
struct ComputeType<bf16> {
  using type = float;
};
template <>
struct ComputeType<std::int16_t> {
  using type = int;
};
template <>
struct ComputeType<std::int8_t> {
  using type = int;
};
template <>
struct ComputeType<std::uint8_t> {
  using type = int;
};
template <>
struct ComputeType<std::uint16_t> {
  using type = int;
};
template <>
struct ComputeType<bool> {
  using type = int;
};
template <class T>
using Compute = typename ComputeType<T>::type;

}  // namespace causeway
