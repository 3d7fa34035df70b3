// Bindings of the internals of priors for the module _testing.
#pragma once

#include "python/bind.h"

#include <vector>

namespace causeway::python {

inline Tensor tensor_of(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from<float>(values, shape);
}

// Mechanisms and columns; draws and plans.
void bind_prior_parts(nb::module_& module);
void bind_prior_draws(nb::module_& module);

}  // namespace causeway::python
