// Predicted distributions of a numeric target: a histogram per row, with bins that all rows share.
#pragma once

#include "causeway/tensor/tensor.h"

#include <span>
#include <vector>

namespace causeway::models {

struct TargetDistribution {
  std::vector<double> edges;  // of the bins, ascending, n_bins + 1, in units of the target
  Tensor probabilities;       // (rows, n_bins) f64
  Tensor means;               // (rows,) f64

  // The middle of the bin with the greatest density, (rows,) f64.
  Tensor mode() const;
  // (rows, shares) f64: the values below which the target is with the given probabilities, each
  // between 0 and 1. The density within a bin is constant. Throws invalid_argument.
  Tensor quantiles(std::span<const double> shares) const;
  // (rows, 2) f64: the quantiles between which the target is with probability `coverage`.
  Tensor interval(double coverage) const;
  Tensor median() const;
  // The probability of numbers below y[row], for each row.
  std::vector<double> below(std::span<const double> y) const;
};

}  // namespace causeway::models
