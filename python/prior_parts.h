// What the files that bind the parts of priors share.
#pragma once

#include "python/bind.h"
#include "python/casters.h"

#include <vector>

namespace causeway::python {

inline Tensor tensor_of(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from<float>(values, shape);
}

// Into the module of the parts.
void bind_prior_draws(nb::module_& module);

}  // namespace causeway::python
