// Adjoint kernels against central finite differences, both in float64.
#pragma once

#include "tests/lang/corpus.h"

#include <string>

namespace causeway::lang::test {

struct GradientCheck {
  std::string problem;  // empty where all derivatives agree
  int n_derivatives = 0;
  double worst = 0;  // largest error relative to 1 + |derivative|
};

// `text` is compiled with float64 in place of the other float types. At most `per_parameter`
// derivatives are taken of each parameter.
GradientCheck check_gradients(const std::string& text, const Run& run, int per_parameter = 6);

}  // namespace causeway::lang::test
