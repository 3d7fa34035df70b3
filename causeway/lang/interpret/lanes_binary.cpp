// Functions of two numbers.
#include "causeway/lang/interpret/lanes.h"

namespace causeway::lang::interpret {

namespace {

template <class T, class F>
void masked(std::byte* r, const std::byte* a, const std::byte* b, Mask mask, F f) {
  auto* out = reinterpret_cast<T*>(r);
  const auto* x = reinterpret_cast<const T*>(a);
  const auto* y = reinterpret_cast<const T*>(b);
  for_lanes(mask, [&](int i) { out[i] = f(x[i], y[i]); });
}

template <class T>
void float_binary(Op op, std::byte* r, const std::byte* a, const std::byte* b, Mask mask) {
  switch (op) {
    case Op::add: return map2<T, T>(r, a, b, [](T x, T y) { return x + y; });
    case Op::sub: return map2<T, T>(r, a, b, [](T x, T y) { return x - y; });
    case Op::mul: return map2<T, T>(r, a, b, [](T x, T y) { return x * y; });
    case Op::div: return map2<T, T>(r, a, b, [](T x, T y) { return x / y; });
    case Op::mod: return masked<T>(r, a, b, mask, [](T x, T y) { return std::fmod(x, y); });
    case Op::pow: return masked<T>(r, a, b, mask, [](T x, T y) { return std::pow(x, y); });
    case Op::atan2: return masked<T>(r, a, b, mask, [](T x, T y) { return std::atan2(x, y); });
    case Op::min: return masked<T>(r, a, b, mask, [](T x, T y) { return std::fmin(x, y); });
    case Op::max: return masked<T>(r, a, b, mask, [](T x, T y) { return std::fmax(x, y); });
    case Op::copysign: return map2<T, T>(r, a, b, [](T x, T y) { return std::copysign(x, y); });
    default: return;
  }
}

template <class T>
void int_binary(Op op, std::byte* r, const std::byte* a, const std::byte* b, Mask mask) {
  using U = std::make_unsigned_t<T>;
  constexpr int width = std::numeric_limits<U>::digits;
  // Products of small types are computed in unsigned int, which cannot overflow.
  const auto wide = [](T x) {
    return static_cast<std::common_type_t<U, unsigned>>(static_cast<U>(x));
  };
  switch (op) {
    case Op::add:
      return map2<T, T>(r, a, b, [&](T x, T y) { return static_cast<T>(wide(x) + wide(y)); });
    case Op::sub:
      return map2<T, T>(r, a, b, [&](T x, T y) { return static_cast<T>(wide(x) - wide(y)); });
    case Op::mul:
      return map2<T, T>(r, a, b, [&](T x, T y) { return static_cast<T>(wide(x) * wide(y)); });
    case Op::min: return map2<T, T>(r, a, b, [](T x, T y) { return x < y ? x : y; });
    case Op::max: return map2<T, T>(r, a, b, [](T x, T y) { return x > y ? x : y; });
    case Op::bit_and: return map2<T, T>(r, a, b, [](T x, T y) { return static_cast<T>(x & y); });
    case Op::bit_or: return map2<T, T>(r, a, b, [](T x, T y) { return static_cast<T>(x | y); });
    case Op::bit_xor: return map2<T, T>(r, a, b, [](T x, T y) { return static_cast<T>(x ^ y); });
    case Op::shl:
      return map2<T, T>(r, a, b,
                        [&](T x, T y) { return static_cast<T>(wide(x) << (y & (width - 1))); });
    case Op::shr:
      return map2<T, T>(r, a, b, [](T x, T y) { return static_cast<T>(x >> (y & (width - 1))); });
    case Op::div:
      return masked<T>(r, a, b, mask, [](T x, T y) {
        if (y == 0) return T(0);
        if (std::is_signed_v<T> && y == static_cast<T>(-1))
          return static_cast<T>(U(0) - static_cast<U>(x));
        return static_cast<T>(x / y);
      });
    case Op::mod:
      return masked<T>(r, a, b, mask, [](T x, T y) {
        if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) return T(0);
        return static_cast<T>(x % y);
      });
    default: return;
  }
}

}  // namespace

void binary_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, const std::byte* b,
                  Mask mask) {
  if (op == Op::logical_and) {
    return map2<std::uint8_t, std::uint8_t>(r, a, b,
                                            [](std::uint8_t x, std::uint8_t y) { return x & y; });
  }
  if (op == Op::logical_or) {
    return map2<std::uint8_t, std::uint8_t>(r, a, b,
                                            [](std::uint8_t x, std::uint8_t y) { return x | y; });
  }
  visit(scalar, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      float_binary<T>(op, r, a, b, mask);
    } else {
      int_binary<T>(op, r, a, b, mask);
    }
  });
  if (scalar == Scalar::f16) round_half(r);
}

void compare_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, const std::byte* b) {
  visit(scalar, [&]<class T>(T) {
    using B = std::uint8_t;
    switch (op) {
      case Op::eq: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x == y; });
      case Op::ne: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x != y; });
      case Op::lt: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x < y; });
      case Op::le: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x <= y; });
      case Op::gt: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x > y; });
      default: return map2<B, T>(r, a, b, [](T x, T y) -> B { return x >= y; });
    }
  });
}

Mask zero_lanes(Scalar scalar, const std::byte* a, Mask mask) {
  Mask zero = 0;
  visit(scalar, [&]<class T>(T) {
    const auto* values = reinterpret_cast<const T*>(a);
    for_lanes(mask, [&](int i) {
      if (values[i] == T(0)) zero |= Mask{1} << i;
    });
  });
  return zero;
}

}  // namespace causeway::lang::interpret
