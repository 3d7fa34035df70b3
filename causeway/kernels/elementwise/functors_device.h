// Arithmetic of elementwise kernels, shared by CPU and GPU. Arguments and results are compute types
// (see half_device.h).
#pragma once

#include "causeway/kernels/math_device.h"

#include <cstdint>
#include <type_traits>

namespace causeway::functors {

#define CAUSEWAY_UNARY(Name, expression)           \
  struct Name {                                    \
    template <class T>                             \
    CAUSEWAY_HOST_DEVICE T operator()(T x) const { \
      return static_cast<T>(expression);           \
    }                                              \
  };

CAUSEWAY_UNARY(Negate, -x)
CAUSEWAY_UNARY(Absolute, x < T(0) ? -x : (x == T(0) ? T(0) : x))
CAUSEWAY_UNARY(Sign, x != x ? x : T((x > T(0)) - (x < T(0))))
CAUSEWAY_UNARY(Square, x* x)
CAUSEWAY_UNARY(Relu, x < T(0) ? T(0) : x)
CAUSEWAY_UNARY(SquareRoot, math::sqrt(x))
CAUSEWAY_UNARY(ReciprocalRoot, T(1) / math::sqrt(x))
CAUSEWAY_UNARY(Reciprocal, T(1) / x)
CAUSEWAY_UNARY(Exp, math::exp(x))
CAUSEWAY_UNARY(Expm1, math::expm1(x))
CAUSEWAY_UNARY(Log, math::log(x))
CAUSEWAY_UNARY(Log1p, math::log1p(x))
CAUSEWAY_UNARY(Log2, math::log2(x))
CAUSEWAY_UNARY(Sin, math::sin(x))
CAUSEWAY_UNARY(Cos, math::cos(x))
CAUSEWAY_UNARY(Tan, math::tan(x))
CAUSEWAY_UNARY(Tanh, math::tanh(x))
CAUSEWAY_UNARY(Erf, math::erf(x))
CAUSEWAY_UNARY(Sigmoid, T(1) / (T(1) + math::exp(-x)))
CAUSEWAY_UNARY(Silu, x / (T(1) + math::exp(-x)))
CAUSEWAY_UNARY(Gelu, math::gelu(x))
CAUSEWAY_UNARY(GeluTanh,
               T(0.5) * x *
                   (T(1) + math::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))))
CAUSEWAY_UNARY(Floor, math::floor(x))
CAUSEWAY_UNARY(Ceil, math::ceil(x))
CAUSEWAY_UNARY(Round, math::rint(x))
CAUSEWAY_UNARY(Trunc, math::trunc(x))
#undef CAUSEWAY_UNARY

struct Add {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};
// True division of floats. Integers should not reach this functor; dividing them by zero gives
// zero.
struct Divide {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return b == 0 ? T(0) : T(a / b);
    } else {
      return a / b;
    }
  }
};
struct Power {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      // Exponentiation by squaring; a negative exponent gives 1/a^|b|, truncated.
      if (b < 0) return a == 1 ? T(1) : (a == -1 ? ((b & 1) != 0 ? T(-1) : T(1)) : T(0));
      T result = 1;
      for (; b > 0; b >>= 1, a *= a) {
        if ((b & 1) != 0) result *= a;
      }
      return result;
    } else {
      return math::pow(a, b);
    }
  }
};
// As in Python, the result has the divisor's sign; an integer modulo zero is zero.
struct Remainder {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(0);
      if (b == T(-1)) return T(0);
      const T rest = a % b;
      return (rest != 0 && ((rest < 0) != (b < 0))) ? rest + b : rest;
    } else {
      const T rest = math::fmod(a, b);
      return (rest != 0 && ((rest < 0) != (b < 0))) ? rest + b : rest;
    }
  }
};
// NaN if either side is NaN.
struct Minimum {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    return ((a != a) | (a < b)) ? a : b;
  }
};
struct Maximum {
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T a, T b) const {
    return ((a != a) | (a > b)) ? a : b;
  }
};

#define CAUSEWAY_COMPARE(Name, expression)                 \
  struct Name {                                            \
    template <class T>                                     \
    CAUSEWAY_HOST_DEVICE bool operator()(T a, T b) const { \
      return expression;                                   \
    }                                                      \
  };
CAUSEWAY_COMPARE(Equal, a == b)
CAUSEWAY_COMPARE(NotEqual, a != b)
CAUSEWAY_COMPARE(Less, a < b)
CAUSEWAY_COMPARE(LessEqual, a <= b)
CAUSEWAY_COMPARE(Greater, a > b)
CAUSEWAY_COMPARE(GreaterEqual, a >= b)
CAUSEWAY_COMPARE(LogicalAnd, (a != T(0)) & (b != T(0)))
CAUSEWAY_COMPARE(LogicalOr, (a != T(0)) | (b != T(0)))
CAUSEWAY_COMPARE(LogicalXor, (a != T(0)) != (b != T(0)))
#undef CAUSEWAY_COMPARE

#define CAUSEWAY_PREDICATE(Name, expression)          \
  struct Name {                                       \
    template <class T>                                \
    CAUSEWAY_HOST_DEVICE bool operator()(T x) const { \
      return expression;                              \
    }                                                 \
  };
CAUSEWAY_PREDICATE(IsNan, x != x)
CAUSEWAY_PREDICATE(IsFinite, x - x == T(0))
CAUSEWAY_PREDICATE(IsInf, (x == x) & !(x - x == T(0)))
CAUSEWAY_PREDICATE(LogicalNot, x == T(0))
#undef CAUSEWAY_PREDICATE

template <class T>
struct Clamp {
  T low;
  T high;
  CAUSEWAY_HOST_DEVICE T operator()(T x) const { return x < low ? low : (x > high ? high : x); }
};

}  // namespace causeway::functors
