// The normal distribution.
#pragma once

#include <cmath>
#include <numbers>

namespace causeway::models {

inline double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

inline double normal_density(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// The quantile of the standard normal distribution, by bisection.
inline double normal_quantile(double share) {
  double low = -10;
  double high = 10;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace causeway::models
