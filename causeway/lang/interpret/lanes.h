// Loops over the 64 lanes of registers.
#pragma once

#include "causeway/lang/interpret/frame.h"
#include "causeway/lang/ir/builder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace causeway::lang::interpret {

// Calls body(lane) for every lane of the mask, in order.
template <class Body>
void for_lanes(Mask mask, Body&& body) {
  for (; mask != 0; mask &= mask - 1) body(std::countr_zero(mask));
}

template <class T, class F>
void map1(std::byte* r, const std::byte* a, F f) {
  auto* out = reinterpret_cast<T*>(r);
  const auto* in = reinterpret_cast<const T*>(a);
  for (int i = 0; i < kLanes; ++i) out[i] = f(in[i]);
}

template <class R, class T, class F>
void map2(std::byte* r, const std::byte* a, const std::byte* b, F f) {
  auto* out = reinterpret_cast<R*>(r);
  const auto* x = reinterpret_cast<const T*>(a);
  const auto* y = reinterpret_cast<const T*>(b);
  for (int i = 0; i < kLanes; ++i) out[i] = f(x[i], y[i]);
}

// Copies the masked lanes of one register.
inline void copy_lanes(std::byte* to, const std::byte* from, std::size_t size, Mask mask) {
  if (mask == ~Mask{0}) {
    std::memcpy(to, from, size * kLanes);
    return;
  }
  const auto each = [&]<class T>(T) {
    auto* out = reinterpret_cast<T*>(to);
    const auto* in = reinterpret_cast<const T*>(from);
    for (int i = 0; i < kLanes; ++i) out[i] = mask >> i & 1 ? in[i] : out[i];
  };
  if (size == 1) each(std::uint8_t{});
  if (size == 2) each(std::uint16_t{});
  if (size == 4) each(std::uint32_t{});
  if (size == 8) each(std::uint64_t{});
}

inline void round_half(std::byte* r) {
  auto* values = reinterpret_cast<float*>(r);
  for (int i = 0; i < kLanes; ++i) values[i] = half_to_float(float_to_half(values[i]));
}

// Calls f with a value of the C++ type that registers of `scalar` hold.
template <class F>
decltype(auto) visit(Scalar scalar, F&& f) {
  switch (scalar) {
    case Scalar::boolean:
    case Scalar::u8: return f(std::uint8_t{});
    case Scalar::i8: return f(std::int8_t{});
    case Scalar::i16: return f(std::int16_t{});
    case Scalar::i32: return f(std::int32_t{});
    case Scalar::i64: return f(std::int64_t{});
    case Scalar::u16: return f(std::uint16_t{});
    case Scalar::u32: return f(std::uint32_t{});
    case Scalar::u64: return f(std::uint64_t{});
    case Scalar::f16:
    case Scalar::f32: return f(float{});
    default: return f(double{});
  }
}

// Converts numbers; values out of range of an integer type saturate, NaN becomes 0.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(x == x)) return 0;
    constexpr auto low = std::numeric_limits<To>::min();
    constexpr auto high = std::numeric_limits<To>::max();
    if (x <= static_cast<From>(low)) return low;
    if (x >= static_cast<From>(high)) return high;
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// lanes_math.cpp and lanes_binary.cpp. Operands are registers of one scalar.
void unary_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, Mask mask);
void binary_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, const std::byte* b,
                  Mask mask);
void compare_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, const std::byte* b);
void cast_lanes(Scalar to, Scalar from, std::byte* r, const std::byte* a);
// The lanes of the mask whose integer is zero.
Mask zero_lanes(Scalar scalar, const std::byte* a, Mask mask);

double erfinv(double x);

}  // namespace causeway::lang::interpret
