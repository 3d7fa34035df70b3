// Whitened principal components of the columns of a table, fitted to the context rows: linear
// combinations of the columns that are uncorrelated and have unit variance.
#pragma once

#include "causeway/models/column_transform.h"
#include "causeway/tables/features.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace causeway::models {

class PrincipalComponents {
 public:
  // What components combine: a number, or whether a category is one of its frequent levels. Both
  // are standardised; a missing cell is the mean.
  struct Input {
    std::int64_t position = 0;  // of the feature in the table
    double level = 0;           // NaN: the number itself
    ColumnTransform::Scale scale;

    double operator()(double cell) const;
  };

  // Of the features at `positions` of a contiguous x (rows, features) f64, at most `most`
  // components. There are none if all features are constant.
  PrincipalComponents(const Tensor& x, std::span<const std::int64_t> positions,
                      const tables::Features& features, std::int64_t most);

  // The number of components, in descending order of the variance that they explain.
  std::int64_t size() const { return size_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  // The factor of an input in a component.
  double factor(std::int64_t input, std::int64_t component) const {
    return factors_[static_cast<std::size_t>(input * stride_ + component)];
  }

  // The variance of a component before whitening, of standardised inputs.
  double variance(std::int64_t component) const {
    return variances_[static_cast<std::size_t>(component)];
  }

  // Components (rows, size()) of some rows of a table x with n_features features, clipped to 100
  // standard deviations. A row's result does not depend on the others.
  std::vector<double> project(const double* x, std::int64_t n_features,
                              std::span<const std::int64_t> rows) const;

 private:
  void add_input(std::int64_t position, double level, const std::vector<double>& column);
  void choose_inputs(const Tensor& x, std::span<const std::int64_t> positions,
                     const tables::Features& features);
  std::vector<double> covariance(const Tensor& x) const;

  std::vector<Input> inputs_;
  std::int64_t size_ = 0;
  std::int64_t stride_ = 0;      // between rows of the factors
  std::vector<double> factors_;  // (inputs, stride)
  std::vector<double> variances_;
};

}  // namespace causeway::models
