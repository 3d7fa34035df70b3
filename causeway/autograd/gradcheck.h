// Gradients by rule against gradients by difference.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

struct GradcheckOptions {
  double step = 1e-6;
  double absolute = 1e-5;
  double relative = 1e-3;
};

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

// Moves every element of every tracked input (f64) up and down by `step` and compares with what
// backward says of a fixed random combination of the function's results. Returns the largest
// difference in units of what is allowed, so that up to 1 is good.
double gradcheck_error(const Function& function, const std::vector<Tensor>& inputs,
                       const GradcheckOptions& options = {});

// Throws, naming the input, the element and both numbers, unless all agree.
void gradcheck(const Function& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

}  // namespace causeway::autograd
