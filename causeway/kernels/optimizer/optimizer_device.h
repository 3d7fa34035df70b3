// The update of one element by each optimizer, shared by CPU and GPU. T is the type of the states.
#pragma once

#include "causeway/kernels/math_device.h"

namespace causeway::optimizers {

template <class T>
struct Element {
  T parameter;
  T gradient;
  T state[2];
};

// Values common to all elements of a step.
template <class T>
struct Step {
  T rate;
  T beta1;
  T beta2;
  T epsilon;
  T decay;
  T correction1;     // 1 - beta1^step
  T correction2;     // the square root of 1 - beta2^step
  T average_weight;  // of the schedule-free average
  bool nesterov;
};

template <class T>
CAUSEWAY_HOST_DEVICE T lerp(T a, T b, T weight) {
  return a + (b - a) * weight;
}

struct Sgd {
  static constexpr int kStates = 1;
  template <class T>
  CAUSEWAY_HOST_DEVICE void operator()(Element<T>& e, const Step<T>& s) const {
    const T slope = e.gradient + s.decay * e.parameter;
    e.state[0] = s.beta1 * e.state[0] + slope;
    e.parameter -= s.rate * (s.nesterov ? slope + s.beta1 * e.state[0] : e.state[0]);
  }
};

template <bool kDecoupled>
struct Adam {
  static constexpr int kStates = 2;
  template <class T>
  CAUSEWAY_HOST_DEVICE void operator()(Element<T>& e, const Step<T>& s) const {
    T slope = e.gradient;
    if constexpr (kDecoupled) {
      e.parameter -= s.rate * s.decay * e.parameter;
    } else {
      slope += s.decay * e.parameter;
    }
    e.state[0] = lerp(slope, e.state[0], s.beta1);
    e.state[1] = lerp(slope * slope, e.state[1], s.beta2);
    const T spread = math::sqrt(e.state[1]) / s.correction2 + s.epsilon;
    e.parameter -= s.rate / s.correction1 * e.state[0] / spread;
  }
};

struct RmsProp {
  static constexpr int kStates = 2;
  template <class T>
  CAUSEWAY_HOST_DEVICE void operator()(Element<T>& e, const Step<T>& s) const {
    const T slope = e.gradient + s.decay * e.parameter;
    e.state[0] = lerp(slope * slope, e.state[0], s.beta2);
    e.state[1] = s.beta1 * e.state[1] + slope / (math::sqrt(e.state[0]) + s.epsilon);
    e.parameter -= s.rate * e.state[1];
  }
};

struct Adagrad {
  static constexpr int kStates = 1;
  template <class T>
  CAUSEWAY_HOST_DEVICE void operator()(Element<T>& e, const Step<T>& s) const {
    const T slope = e.gradient + s.decay * e.parameter;
    e.state[0] += slope * slope;
    e.parameter -= s.rate * slope / (math::sqrt(e.state[0]) + s.epsilon);
  }
};

// Gradients are evaluated at y, between the fast sequence z and its average x (Defazio et al.,
// 2024).
struct ScheduleFree {
  static constexpr int kStates = 2;
  template <class T>
  CAUSEWAY_HOST_DEVICE void operator()(Element<T>& e, const Step<T>& s) const {
    T& z = e.state[0];
    T& y = e.parameter;
    e.state[1] = lerp(e.gradient * e.gradient, e.state[1], s.beta2);
    const T spread = math::sqrt(e.state[1]) / s.correction2 + s.epsilon;
    const T slope = e.gradient / spread + s.decay * y;
    y = lerp(y, z, s.average_weight);
    y += s.rate * (s.beta1 * (T(1) - s.average_weight) - T(1)) * slope;
    z -= s.rate * slope;
  }
};

}  // namespace causeway::optimizers
