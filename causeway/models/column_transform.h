// Transforms of columns, fitted to the context rows. Ensemble members with different transforms see
// the same table in different ways.
#pragma once

#include "causeway/models/rank_scores.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace causeway::models {

enum class Transform {
  none,        // the value
  power,       // Yeo and Johnson's power with the exponent of the greatest likelihood
  quantile,    // the normal score of the value's rank
  components,  // of all columns together: see principal_components.h
};

const char* to_string(Transform transform);
// Throws invalid_argument and lists the names.
Transform parse_transform(const std::string& name);

inline constexpr double kMostDeviations = 100;  // standardised values are clipped to these

// The values of a column of x (rows, columns) f64.
std::vector<double> column_values(const Tensor& x, std::int64_t position);

// Transforms and standardises the values of one column, by any transform but `components`.
class ColumnTransform {
 public:
  // Values that are not finite are ignored.
  ColumnTransform(Transform kind, std::span<const double> values);

  bool is_constant() const { return raw_.inverse == 0; }
  // Clipped to kMostDeviations; NaN stays NaN.
  double operator()(double value) const;
  // Of a standardised value, by `none` or `power`. Beyond the range of a power, infinity.
  double inverse(double z) const;

  struct Scale {
    double mean = 0;
    double inverse = 0;  // one over the standard deviation; 0 for a constant
    double operator()(double value) const { return (value - mean) * inverse; }
    double deviation() const { return inverse == 0 ? 0 : 1 / inverse; }
  };
  // The mean and deviation of the finite values.
  static Scale scale_of(std::span<const double> values);

  double exponent() const { return exponent_; }  // of a power transform
  // Of the values after a power or quantile transform.
  const Scale& transformed_scale() const { return scale_; }

 private:
  static Scale scale_far_from_zero(std::span<const double> values);
  double transformed(double z) const;

  Transform kind_;
  Scale raw_;
  Scale scale_;          // after a transform
  double exponent_ = 1;  // of a power transform
  RankScores ranks_;     // of a quantile transform
};

}  // namespace causeway::models
