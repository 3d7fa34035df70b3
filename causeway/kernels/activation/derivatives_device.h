// Arithmetic of activations, losses and derivatives in compute types, shared by CPU and GPU. A
// derivative maps (saved, gradient) to gradient * derivative.
#pragma once

#include "causeway/kernels/math_device.h"

namespace causeway::derivatives {

// In terms of the input x or the result y.
#define CAUSEWAY_DERIVATIVE(Name, saved, expression)        \
  struct Name {                                             \
    template <class T>                                      \
    CAUSEWAY_HOST_DEVICE T operator()(T saved, T g) const { \
      return static_cast<T>(expression);                    \
    }                                                       \
  };

template <class T>
CAUSEWAY_HOST_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + math::exp(-x));
}
// The density of the standard normal distribution at x.
template <class T>
CAUSEWAY_HOST_DEVICE T normal_density(T x) {
  return T(0.39894228040143267794) * math::exp(T(-0.5) * x * x);
}
template <class T>
CAUSEWAY_HOST_DEVICE T gelu_tanh_slope(T x) {
  constexpr T kRoot = T(0.79788456080286535588);
  const T t = math::tanh(kRoot * (x + T(0.044715) * x * x * x));
  const T inner = kRoot * (T(1) + T(3 * 0.044715) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
}
template <class T>
CAUSEWAY_HOST_DEVICE T silu_slope(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}

CAUSEWAY_DERIVATIVE(Negate, x, (void(x), -g))
CAUSEWAY_DERIVATIVE(Absolute, x, x > T(0) ? g : (x < T(0) ? -g : T(0)))
CAUSEWAY_DERIVATIVE(Zero, x, (void(x), void(g), T(0)))
CAUSEWAY_DERIVATIVE(Square, x, T(2) * x * g)
CAUSEWAY_DERIVATIVE(Relu, y, y > T(0) ? g : T(0))
CAUSEWAY_DERIVATIVE(SquareRoot, y, T(0.5) * g / y)
CAUSEWAY_DERIVATIVE(ReciprocalRoot, y, T(-0.5) * g * y * y * y)
CAUSEWAY_DERIVATIVE(Reciprocal, y, -g* y* y)
CAUSEWAY_DERIVATIVE(Exp, y, g* y)
CAUSEWAY_DERIVATIVE(Expm1, y, g*(y + T(1)))
CAUSEWAY_DERIVATIVE(Log, x, g / x)
CAUSEWAY_DERIVATIVE(Log1p, x, g / (T(1) + x))
CAUSEWAY_DERIVATIVE(Log2, x, g / (x * T(0.69314718055994530942)))
CAUSEWAY_DERIVATIVE(Sin, x, g* math::cos(x))
CAUSEWAY_DERIVATIVE(Cos, x, -g* math::sin(x))
CAUSEWAY_DERIVATIVE(Tan, y, g*(T(1) + y * y))
CAUSEWAY_DERIVATIVE(Tanh, y, g*(T(1) - y * y))
CAUSEWAY_DERIVATIVE(Erf, x, g* T(1.12837916709551257390) * math::exp(-x * x))
CAUSEWAY_DERIVATIVE(Sigmoid, y, g* y*(T(1) - y))
CAUSEWAY_DERIVATIVE(Silu, x, g* silu_slope(x))
CAUSEWAY_DERIVATIVE(Gelu, x,
                    g*(T(0.5) * (T(1) + math::erf(x * T(0.70710678118654752440))) +
                       x * normal_density(x)))
CAUSEWAY_DERIVATIVE(GeluTanh, x, g* gelu_tanh_slope(x))
#undef CAUSEWAY_DERIVATIVE

// Activations: value(x), and the derivative slope(x).
template <class T>
struct LeakyRelu {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const { return x < T(0) ? a * x : x; }
  CAUSEWAY_HOST_DEVICE T slope(T x) const { return x > T(0) ? T(1) : a; }
};
template <class T>
struct Elu {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const { return b * (x > T(0) ? x : a * math::expm1(x)); }
  CAUSEWAY_HOST_DEVICE T slope(T x) const { return b * (x > T(0) ? T(1) : a * math::exp(x)); }
};
template <class T>
struct Softplus {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const {
    return a * x > b ? x : math::log1p(math::exp(a * x)) / a;
  }
  CAUSEWAY_HOST_DEVICE T slope(T x) const { return a * x > b ? T(1) : sigmoid(a * x); }
};
template <class T>
struct HardSigmoid {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const {
    const T line = x / T(6) + T(0.5);
    return line < T(0) ? T(0) : (line > T(1) ? T(1) : line);
  }
  CAUSEWAY_HOST_DEVICE T slope(T x) const {
    return ((x > T(-3)) & (x < T(3))) ? T(1) / T(6) : T(0);
  }
};
template <class T>
struct HardSwish {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const { return x * HardSigmoid<T>{a, b}.value(x); }
  CAUSEWAY_HOST_DEVICE T slope(T x) const {
    return x < T(-3) ? T(0) : (x > T(3) ? T(1) : x / T(3) + T(0.5));
  }
};
template <class T>
struct HardTanh {
  T a;
  T b;
  CAUSEWAY_HOST_DEVICE T value(T x) const { return x < a ? a : (x > b ? b : x); }
  CAUSEWAY_HOST_DEVICE T slope(T x) const { return ((x > a) & (x < b)) ? T(1) : T(0); }
};

// Losses: value(difference) and slope(difference), difference = prediction - target.
template <class T>
struct Squared {
  T parameter;
  CAUSEWAY_HOST_DEVICE T value(T d) const { return d * d; }
  CAUSEWAY_HOST_DEVICE T slope(T d) const { return T(2) * d; }
};
template <class T>
struct AbsoluteError {
  T parameter;
  CAUSEWAY_HOST_DEVICE T value(T d) const { return d < T(0) ? -d : d; }
  CAUSEWAY_HOST_DEVICE T slope(T d) const { return T((d > T(0)) - (d < T(0))); }
};
template <class T>
struct Huber {
  T parameter;
  CAUSEWAY_HOST_DEVICE T value(T d) const {
    const T size = d < T(0) ? -d : d;
    return size <= parameter ? T(0.5) * d * d : parameter * (size - T(0.5) * parameter);
  }
  CAUSEWAY_HOST_DEVICE T slope(T d) const {
    return d < -parameter ? -parameter : (d > parameter ? parameter : d);
  }
};
// The loss has slope `parameter` below the target and 1 - parameter above it.
template <class T>
struct Pinball {
  T parameter;
  CAUSEWAY_HOST_DEVICE T value(T d) const {
    return d < T(0) ? -parameter * d : (T(1) - parameter) * d;
  }
  CAUSEWAY_HOST_DEVICE T slope(T d) const {
    return d < T(0) ? -parameter : (d > T(0) ? T(1) - parameter : T(0));
  }
};

// As functions of elements.
template <class F>
struct Value {
  F f;
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T x) const {
    return f.value(x);
  }
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T prediction, T target) const {
    return f.value(prediction - target);
  }
};
template <class F>
struct Slope {
  F f;
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T x, T g) const {
    return g * f.slope(x);
  }
  template <class T>
  CAUSEWAY_HOST_DEVICE T operator()(T prediction, T target, T g) const {
    return g * f.slope(prediction - target);
  }
};

}  // namespace causeway::derivatives
