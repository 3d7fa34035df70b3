// Minimisation of a function of one number.
#pragma once

#include <cmath>

namespace causeway::models {

// The argument between `low` and `high` with the least value of a function with one minimum, by
// `n` steps of golden section.
template <class Function>
double least_argument(double low, double high, int n, Function&& function) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < n; ++i) {
    const double a = high - ratio * (high - low);
    const double b = low + ratio * (high - low);
    if (function(a) > function(b)) {
      low = a;
    } else {
      high = b;
    }
  }
  return (low + high) / 2;
}

}  // namespace causeway::models
