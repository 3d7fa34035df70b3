// Functions of one number, and conversions.
#include "causeway/lang/interpret/lanes.h"

namespace causeway::lang::interpret {

namespace {

// Expensive functions run on active lanes only.
template <class T, class F>
void masked(std::byte* r, const std::byte* a, Mask mask, F f) {
  auto* out = reinterpret_cast<T*>(r);
  const auto* in = reinterpret_cast<const T*>(a);
  for_lanes(mask, [&](int i) { out[i] = f(in[i]); });
}

template <class T>
void float_unary(Op op, std::byte* r, const std::byte* a, Mask mask) {
  switch (op) {
    case Op::sqrt: return map1<T>(r, a, [](T x) { return std::sqrt(x); });
    case Op::floor: return map1<T>(r, a, [](T x) { return std::floor(x); });
    case Op::ceil: return map1<T>(r, a, [](T x) { return std::ceil(x); });
    case Op::trunc: return map1<T>(r, a, [](T x) { return std::trunc(x); });
    case Op::round: return masked<T>(r, a, mask, [](T x) { return std::round(x); });
    case Op::rint: return masked<T>(r, a, mask, [](T x) { return std::rint(x); });
    case Op::cbrt: return masked<T>(r, a, mask, [](T x) { return std::cbrt(x); });
    case Op::exp: return masked<T>(r, a, mask, [](T x) { return std::exp(x); });
    case Op::log: return masked<T>(r, a, mask, [](T x) { return std::log(x); });
    case Op::log2: return masked<T>(r, a, mask, [](T x) { return std::log2(x); });
    case Op::log10: return masked<T>(r, a, mask, [](T x) { return std::log10(x); });
    case Op::sin: return masked<T>(r, a, mask, [](T x) { return std::sin(x); });
    case Op::cos: return masked<T>(r, a, mask, [](T x) { return std::cos(x); });
    case Op::tan: return masked<T>(r, a, mask, [](T x) { return std::tan(x); });
    case Op::asin: return masked<T>(r, a, mask, [](T x) { return std::asin(x); });
    case Op::acos: return masked<T>(r, a, mask, [](T x) { return std::acos(x); });
    case Op::atan: return masked<T>(r, a, mask, [](T x) { return std::atan(x); });
    case Op::sinh: return masked<T>(r, a, mask, [](T x) { return std::sinh(x); });
    case Op::cosh: return masked<T>(r, a, mask, [](T x) { return std::cosh(x); });
    case Op::tanh: return masked<T>(r, a, mask, [](T x) { return std::tanh(x); });
    case Op::erf: return masked<T>(r, a, mask, [](T x) { return std::erf(x); });
    case Op::erfc: return masked<T>(r, a, mask, [](T x) { return std::erfc(x); });
    case Op::erfinv:
      return masked<T>(r, a, mask,
                       [](T x) { return static_cast<T>(erfinv(static_cast<double>(x))); });
    case Op::erfcinv:
      return masked<T>(r, a, mask,
                       [](T x) { return static_cast<T>(erfinv(1.0 - static_cast<double>(x))); });
    case Op::abs: return map1<T>(r, a, [](T x) { return std::fabs(x); });
    case Op::sign: return map1<T>(r, a, [](T x) { return x < T(0) ? T(-1) : T(1); });
    case Op::neg: return map1<T>(r, a, [](T x) { return -x; });
    default: break;
  }
  auto* out = reinterpret_cast<std::uint8_t*>(r);
  const auto* in = reinterpret_cast<const T*>(a);
  for (int i = 0; i < kLanes; ++i) {
    out[i] = op == Op::isnan   ? std::isnan(in[i])
             : op == Op::isinf ? std::isinf(in[i])
                               : std::isfinite(in[i]);
  }
}

template <class T>
void int_unary(Op op, std::byte* r, const std::byte* a) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Op::neg:
      return map1<T>(r, a, [](T x) { return static_cast<T>(U(0) - static_cast<U>(x)); });
    case Op::abs:
      return map1<T>(r, a,
                     [](T x) { return x < 0 ? static_cast<T>(U(0) - static_cast<U>(x)) : x; });
    case Op::sign: return map1<T>(r, a, [](T x) { return static_cast<T>(x < 0 ? -1 : 1); });
    case Op::bit_not: return map1<T>(r, a, [](T x) { return static_cast<T>(~x); });
    default: break;
  }
  auto* out = reinterpret_cast<std::int32_t*>(r);
  const auto* in = reinterpret_cast<const T*>(a);
  for (int i = 0; i < kLanes; ++i) out[i] = std::popcount(static_cast<U>(in[i]));
}

}  // namespace

// Giles' approximation, then Newton steps on erf.
double erfinv(double x) {
  if (!(std::fabs(x) < 1)) {
    if (std::fabs(x) == 1) return x * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double w = -std::log1p(-x * x);
  double p;
  if (w < 5) {
    const double v = w - 2.5;
    p = 2.81022636e-08;
    for (const double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                           -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}) {
      p = p * v + c;
    }
  } else {
    const double v = std::sqrt(w) - 3;
    p = -0.000200214257;
    for (const double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                           -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}) {
      p = p * v + c;
    }
  }
  double y = p * x;
  for (int i = 0; i < 2; ++i) {
    y -= (std::erf(y) - x) * 0.88622692545275801365 * std::exp(y * y);
  }
  return y;
}

void unary_lanes(Op op, Scalar scalar, std::byte* r, const std::byte* a, Mask mask) {
  if (op == Op::logical_not) {
    return map1<std::uint8_t>(r, a, [](std::uint8_t x) -> std::uint8_t { return x == 0; });
  }
  visit(scalar, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      float_unary<T>(op, r, a, mask);
    } else {
      int_unary<T>(op, r, a);
    }
  });
  const bool number = op != Op::isnan && op != Op::isinf && op != Op::isfinite;
  if (scalar == Scalar::f16 && number) round_half(r);
}

void cast_lanes(Scalar to, Scalar from, std::byte* r, const std::byte* a) {
  visit(from, [&]<class From>(From) {
    const auto* in = reinterpret_cast<const From*>(a);
    if (to == Scalar::boolean) {
      auto* out = reinterpret_cast<std::uint8_t*>(r);
      for (int i = 0; i < kLanes; ++i) out[i] = in[i] != From(0);
      return;
    }
    visit(to, [&]<class To>(To) {
      auto* out = reinterpret_cast<To*>(r);
      for (int i = 0; i < kLanes; ++i) out[i] = convert<To>(in[i]);
    });
  });
  if (to == Scalar::f16) round_half(r);
}

}  // namespace causeway::lang::interpret
