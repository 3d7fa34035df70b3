// Ridge regression of a numeric target on the principal components of a table. The penalty is the
// one with the least squared leave-one-out error.
#pragma once

#include "causeway/models/principal_components.h"

#include <cstdint>
#include <span>
#include <vector>

namespace causeway::models {

class Ridge {
 public:
  // Of the targets of all rows of a contiguous x (rows, features) f64; there is at least one
  // component, and y is not constant.
  Ridge(PrincipalComponents components, const Tensor& x, std::span<const double> y);

  // Each target minus its prediction by a fit to the other rows with the same components and
  // penalty.
  const std::vector<double>& residuals() const { return residuals_; }
  // Whether the fit lowers the leave-one-out squared error of the mean by more than two standard
  // errors, which chance and a few outliers seldom do.
  bool is_significant() const { return is_significant_; }
  // For all rows of a contiguous table x with the same features.
  std::vector<double> predict(const Tensor& x) const;

  const PrincipalComponents& components() const { return components_; }
  // A prediction is intercept() + the sum of coefficient times component.
  double intercept() const { return scale_.mean; }
  const std::vector<double>& coefficients() const { return coefficients_; }

 private:
  PrincipalComponents components_;
  ColumnTransform::Scale scale_;  // of the targets
  std::vector<double> coefficients_;
  std::vector<double> residuals_;
  bool is_significant_ = false;
};

}  // namespace causeway::models
