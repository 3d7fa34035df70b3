// Checks gradient rules against finite differences.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

struct GradcheckOptions {
  double step = 1e-6;
  double absolute = 1e-5;
  double relative = 1e-3;
};

using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

// Perturbs every element of every tracked input (f64) by +-`step` and compares with the backward
// pass of a fixed random combination of the results. Returns the largest difference relative to the
// tolerance: at most 1 passes.
double gradcheck_error(const Function& function, const std::vector<Tensor>& inputs,
                       const GradcheckOptions& options = {});

// Throws an error that names the input, the element and both values if they differ.
void gradcheck(const Function& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

}  // namespace causeway::autograd
