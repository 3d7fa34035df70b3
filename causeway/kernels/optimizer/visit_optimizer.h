// Dispatch from an optimizer to its functor, and the scalars of a step from the control block.
#pragma once

#include "causeway/kernels/optimizer/optimizer_device.h"
#include "causeway/kernels/optimizer/optimizer.h"

namespace causeway::kernels {

template <class Body>
void visit(OptimizerOp op, const Body& body) {
  switch (op) {
    case OptimizerOp::sgd: return body(optimizers::Sgd());
    case OptimizerOp::adam: return body(optimizers::Adam<false>());
    case OptimizerOp::adamw: return body(optimizers::Adam<true>());
    case OptimizerOp::rmsprop: return body(optimizers::RmsProp());
    case OptimizerOp::adagrad: return body(optimizers::Adagrad());
    case OptimizerOp::schedule_free: return body(optimizers::ScheduleFree());
  }
}

// The settings in the kernel's type.
template <class T>
struct StepSettings {
  T beta1;
  T beta2;
  T epsilon;
  T decay;
  T rate_factor;
  bool nesterov;
};

template <class T>
StepSettings<T> step_settings(const OptimizerSettings& from) {
  return {static_cast<T>(from.beta1),       static_cast<T>(from.beta2),
          static_cast<T>(from.epsilon),     static_cast<T>(from.weight_decay),
          static_cast<T>(from.rate_factor), from.nesterov};
}

CAUSEWAY_HOST_DEVICE float control_value(const float* control, Control which) {
  return control[static_cast<int>(which)];
}

// The step of a tensor that took part in all except `missed` of the counted steps.
template <class T>
CAUSEWAY_HOST_DEVICE optimizers::Step<T> step_of(const StepSettings<T>& settings,
                                                 const float* control, const float* missed) {
  optimizers::Step<T> step;
  const T number = static_cast<T>(control_value(control, Control::step) - *missed);
  step.rate = static_cast<T>(control_value(control, Control::learning_rate)) * settings.rate_factor;
  step.beta1 = settings.beta1;
  step.beta2 = settings.beta2;
  step.epsilon = settings.epsilon;
  step.decay = settings.decay;
  // 1 - beta^n, exact for small n and beta near 1.
  step.correction1 = -math::expm1(number * math::log(settings.beta1));
  step.correction2 = math::sqrt(-math::expm1(number * math::log(settings.beta2)));
  step.average_weight = static_cast<T>(control_value(control, Control::average_weight));
  step.nesterov = settings.nesterov;
  return step;
}

// See begin_optimizer_step.
CAUSEWAY_HOST_DEVICE void begin_step(float* control, std::int64_t growth_interval) {
  const auto at = [control](Control which) -> float& { return control[static_cast<int>(which)]; };
  const bool skips = at(Control::skip) != 0.0f;
  if (growth_interval > 0) {
    at(Control::good_steps) = skips ? 0.0f : at(Control::good_steps) + 1.0f;
    if (skips) {
      at(Control::loss_scale) *= 0.5f;
    } else if (at(Control::good_steps) >= static_cast<float>(growth_interval)) {
      const float doubled = at(Control::loss_scale) * 2.0f;
      if (doubled - doubled == 0.0f) at(Control::loss_scale) = doubled;  // finite
      at(Control::good_steps) = 0.0f;
    }
  }
  if (skips) return;
  at(Control::step) += 1.0f;
  const float rate = at(Control::learning_rate);
  const float greatest = rate > at(Control::greatest_rate) ? rate : at(Control::greatest_rate);
  at(Control::greatest_rate) = greatest;
  at(Control::weight_sum) += greatest * greatest;
  const float sum = at(Control::weight_sum);
  at(Control::average_weight) = sum > 0.0f ? greatest * greatest / sum : 0.0f;
}

// See gradient_norm.
CAUSEWAY_HOST_DEVICE void apply_norm(const double* sums, std::int64_t n_sums, double max_norm,
                                     float* control) {
  double squares = 0;
  for (std::int64_t i = 0; i < n_sums; ++i) squares += sums[i];
  const auto at = [control](Control which) -> float& { return control[static_cast<int>(which)]; };
  const double inverse = 1.0 / static_cast<double>(at(Control::loss_scale));
  const double norm = math::sqrt(squares) * inverse;
  const bool finite = norm - norm == 0.0;
  const double clip = max_norm > 0.0 && norm > max_norm ? max_norm / (norm + 1e-6) : 1.0;
  at(Control::total_norm) = static_cast<float>(norm);
  at(Control::skip) = finite ? 0.0f : 1.0f;
  at(Control::gradient_scale) = static_cast<float>(finite ? inverse * clip : 0.0);
}

}  // namespace causeway::kernels
