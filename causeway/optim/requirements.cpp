#include "causeway/optim/requirements.h"

#include "causeway/core/error.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::optim {

namespace {

constexpr const char* kNotNegative = "expected a finite, non-negative number";

void require(bool holds, const char* what, double value, const char* wanted) {
  if (holds) return;
  fail(ErrorKind::invalid_argument, "optimizer", fmt::format("{} is {}; {}", what, value, wanted));
}

}  // namespace

void require_rate(double rate) {
  require(rate >= 0 && std::isfinite(rate), "learning rate", rate, kNotNegative);
}

void require_norm(double norm) {
  require(norm >= 0, "max_norm", norm, "expected a positive number, or 0 for no clipping");
}

void require_options(const GroupOptions& options) {
  const auto share = [](const char* what, double beta) {
    require(beta >= 0 && beta < 1, what, beta, "expected a number in [0, 1)");
  };
  const auto positive = [](const char* what, double value) {
    require(value >= 0 && std::isfinite(value), what, value, kNotNegative);
  };
  share("beta1", options.beta1);
  share("beta2", options.beta2);
  positive("momentum", options.momentum);
  positive("epsilon", options.epsilon);
  positive("weight_decay", options.weight_decay);
  positive("rate_factor", options.rate_factor);
  if (options.algorithm == Algorithm::schedule_free) {
    require(options.beta1 > 0, "beta1", options.beta1, "schedule_free requires a positive value");
  }
  if (options.nesterov) {
    require(options.momentum > 0, "momentum", options.momentum,
            "nesterov requires a positive value");
  }
}

void require_scale(double scale) {
  require(scale > 0 && std::isfinite(scale), "loss scale", scale,
          "expected a finite, positive number");
}

void require_parameter(const Tensor& parameter, const Tensor& control, bool first) {
  if (parameter.record() == nullptr || !autograd::is_leaf(parameter)) {
    fail(ErrorKind::invalid_argument, "optimizer",
         "every parameter must be a leaf that requires a gradient; call requires_grad_() on it");
  }
  if (!parameter.is_contiguous()) {
    fail(ErrorKind::invalid_argument, "optimizer",
         fmt::format("the parameter of shape {} is not contiguous; expected contiguous parameters",
                     to_string(parameter.shape())));
  }
  if (!first && parameter.device() != control.device()) {
    fail(ErrorKind::device, "optimizer",
         fmt::format("parameters are on {} and {}; an optimizer supports one device",
                     to_string(control.device()), to_string(parameter.device())));
  }
}

}  // namespace causeway::optim
