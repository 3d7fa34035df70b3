#include "causeway/autograd/gradcheck.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

struct Worst {
  double error = 0;  // relative to the tolerance
  std::size_t input = 0;
  std::size_t element = 0;
  double by_rule = 0;
  double by_difference = 0;
};

// The dot product of the results with fixed random weights.
double combined(const Function& function, const std::vector<Tensor>& inputs,
                const Tensor& weights) {
  const NoGrad plain;
  return causeway::sum(function(inputs) * weights).item();
}

Worst compare_all(const Function& function, const std::vector<Tensor>& given,
                  const GradcheckOptions& options) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : given) {
    if (requires_grad(input) && input.dtype() != DType::f64) {
      fail(ErrorKind::invalid_argument, "gradcheck",
           fmt::format("gradcheck requires f64 inputs, got {}", to_string(input.dtype())));
    }
    // A separate leaf with the same strides.
    Tensor leaf = detach(input);
    if (requires_grad(input)) set_requires_grad(leaf, true);
    inputs.push_back(leaf);
  }
  const Tensor out = function(inputs);
  const Tensor weights = Generator(11).normal(out.shape(), 0, 1, DType::f64, out.device());
  backward(out, weights);
  Worst worst;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!requires_grad(inputs[i])) continue;
    const std::optional<Tensor> gradient = gradient_of(inputs[i]);
    const std::vector<double> values = inputs[i].to_vector<double>();
    const std::vector<double> by_rule =
        gradient.has_value() ? gradient->to_vector<double>() : std::vector<double>(values.size());
    for (std::size_t element = 0; element < values.size(); ++element) {
      const auto at = [&](double value) {
        std::vector<double> moved = values;
        moved[element] = value;
        detach(inputs[i]).copy_from(
            Tensor::from<double>(moved, inputs[i].shape()).to(inputs[i].device()));
        return combined(function, inputs, weights);
      };
      const double up = at(values[element] + options.step);
      const double down = at(values[element] - options.step);
      const double slope = (up - down) / (2 * options.step);
      const double allowed = options.absolute + options.relative * std::fabs(slope);
      const double distance = std::fabs(slope - by_rule[element]) / allowed;
      if (!(distance <= worst.error)) worst = {distance, i, element, by_rule[element], slope};
    }
    detach(inputs[i]).copy_from(
        Tensor::from<double>(values, inputs[i].shape()).to(inputs[i].device()));
  }
  return worst;
}

}  // namespace

double gradcheck_error(const Function& function, const std::vector<Tensor>& inputs,
                       const GradcheckOptions& options) {
  return compare_all(function, inputs, options).error;
}

void gradcheck(const Function& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options) {
  const Worst worst = compare_all(function, inputs, options);
  if (worst.error <= 1) return;
  fail(ErrorKind::invalid_argument, "gradcheck",
       fmt::format(
           "input {}, element {}: the gradient rule gives {:.9g}, finite differences give {:.9g}",
           worst.input, worst.element, worst.by_rule, worst.by_difference));
}

}  // namespace causeway::autograd
