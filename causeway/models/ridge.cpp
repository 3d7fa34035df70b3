#include "causeway/models/ridge.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace causeway::models {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Penalties per row: powers of 10^(1/3).
constexpr int kFirstPower = -15;
constexpr int kLastPower = 6;
constexpr double kLeastLeft = 1e-9;  // of 1 - h, below which a row determines its own prediction

// Whether the mean of `values` is more than two standard errors above 0.
bool is_positive(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 2 * std::sqrt(squares) / n;
}

std::vector<double> project_all(const PrincipalComponents& components, const Tensor& x) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(x.size(0)));
  std::iota(rows.begin(), rows.end(), 0);
  return components.project(x.data_as<double>(), x.size(1), rows);
}

}  // namespace

// The components z have mean 0, are uncorrelated and have unit variance. With n rows and the
// penalty a per row, a component of variance v has the coefficient v / (v + a) * mean(z y). In its
// own prediction a row has the weight h = (1 + sum(v / (v + a) * z^2)) / n, and its leave-one-out
// error is its error divided by 1 - h.
Ridge::Ridge(PrincipalComponents components, const Tensor& x, std::span<const double> y)
    : components_(std::move(components)), scale_(ColumnTransform::scale_of(y)) {
  const auto n_components = static_cast<std::size_t>(components_.size());
  const auto n_rows = static_cast<double>(y.size());
  const std::vector<double> z = project_all(components_, x);
  std::vector<double> slopes(n_components, 0);
  for (std::size_t row = 0; row < y.size(); ++row) {
    const double* of_row = z.data() + row * n_components;
    for (std::size_t k = 0; k < n_components; ++k) slopes[k] += of_row[k] * scale_(y[row]) / n_rows;
  }
  coefficients_.assign(n_components, 0);
  residuals_.assign(y.begin(), y.end());
  for (double& residual : residuals_) residual = scale_(residual) / (1 - 1 / n_rows);
  double best = kInfinity;
  std::vector<double> kept(n_components);
  std::vector<double> residuals(y.size());
  for (int power = kFirstPower; power <= kLastPower; ++power) {
    const double penalty = std::pow(10, power / 3.0);
    for (std::size_t k = 0; k < n_components; ++k) {
      const double variance = components_.variance(static_cast<std::int64_t>(k));
      kept[k] = variance / (variance + penalty);
    }
    double squares = 0;
    for (std::size_t row = 0; row < y.size(); ++row) {
      const double* of_row = z.data() + row * n_components;
      double prediction = 0;
      double own = 1;
      for (std::size_t k = 0; k < n_components; ++k) {
        prediction += kept[k] * slopes[k] * of_row[k];
        own += kept[k] * of_row[k] * of_row[k];
      }
      const double left = 1 - own / n_rows;
      residuals[row] = (scale_(y[row]) - prediction) / left;
      squares += left < kLeastLeft ? kInfinity : residuals[row] * residuals[row];
    }
    if (squares >= best) continue;
    best = squares;
    residuals_ = residuals;
    for (std::size_t k = 0; k < n_components; ++k) coefficients_[k] = kept[k] * slopes[k];
  }
  std::vector<double> gains;  // of squared errors, by row
  for (std::size_t row = 0; row < y.size(); ++row) {
    const double of_mean = scale_(y[row]) / (1 - 1 / n_rows);
    gains.push_back(of_mean * of_mean - residuals_[row] * residuals_[row]);
  }
  is_significant_ = is_positive(gains);
  for (double& residual : residuals_) residual *= scale_.deviation();
  for (double& coefficient : coefficients_) coefficient *= scale_.deviation();
}

std::vector<double> Ridge::predict(const Tensor& x) const {
  const std::vector<double> z = project_all(components_, x);
  std::vector<double> made;
  for (auto of_row = z.begin(); of_row != z.end(); of_row += components_.size()) {
    made.push_back(
        std::inner_product(coefficients_.begin(), coefficients_.end(), of_row, scale_.mean));
  }
  return made;
}

}  // namespace causeway::models
