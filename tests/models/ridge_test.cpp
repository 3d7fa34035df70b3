// Ridge regression: leave-one-out errors against fits without the row, the penalty, limits.
#include "causeway/models/ridge.h"

#include "causeway/tensor/create.h"
#include "causeway/tensor/indexing.h"
#include "tests/models/predictor_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace causeway::models {
namespace {

PrincipalComponents components_of(const Tensor& x) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(x.size(1)));
  std::iota(positions.begin(), positions.end(), 0);
  return {x, positions, {}, 100};
}

// A sum of some columns with noise of the given deviation.
std::vector<double> linear_target(const Tensor& x, double noise) {
  Generator generator(3);
  auto y = generator.normal({x.size(0)}, 50, noise, DType::f64).to_vector<double>();
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const double* cells = x.data_as<double>() + row * x.size(1);
    y[static_cast<std::size_t>(row)] += 3 * cells[0] - 2 * cells[2];
  }
  return y;
}

double mean_square(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
         static_cast<double>(values.size());
}

// The prediction for a row by a fit of a constant and all components to the other rows: normal
// equations with the penalty n_rows * penalty * coefficient^2 / variance.
double predict_without(const PrincipalComponents& components, const Tensor& x,
                       const std::vector<double>& y, std::size_t left_out, double penalty) {
  const auto n = static_cast<std::size_t>(components.size()) + 1;
  std::vector<std::int64_t> rows(y.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto z = components.project(x.data_as<double>(), x.size(1), rows);
  const auto cell = [&](std::size_t row, std::size_t k) {
    return k == 0 ? 1.0 : z[row * (n - 1) + k - 1];
  };
  std::vector<double> a(n * (n + 1), 0);  // with the right-hand side
  for (std::size_t k = 1; k < n; ++k) {
    const double variance = components.variance(static_cast<std::int64_t>(k) - 1);
    a[k * (n + 1) + k] = static_cast<double>(y.size()) * penalty / variance;
  }
  for (std::size_t row = 0; row < y.size(); ++row) {
    if (row == left_out) continue;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) a[i * (n + 1) + k] += cell(row, i) * cell(row, k);
      a[i * (n + 1) + n] += cell(row, i) * y[row];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {  // Gauss and Jordan; the matrix is positive definite
    for (std::size_t row = 0; row < n; ++row) {
      if (row == i) continue;
      const double factor = a[row * (n + 1) + i] / a[i * (n + 1) + i];
      for (std::size_t k = i; k <= n; ++k) a[row * (n + 1) + k] -= factor * a[i * (n + 1) + k];
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += cell(left_out, i) * a[i * (n + 1) + n] / a[i * (n + 1) + i];
  return sum;
}

// Compares the residuals with those of fits without the row, for the penalty that agrees best.
void check_residuals(const Tensor& x, const std::vector<double>& y, const std::string& what) {
  const PrincipalComponents components = components_of(x);
  const Ridge ridge(components, x, y);
  double least = std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (int power = -15; power <= 6; ++power) {
    double difference = 0;
    std::vector<double> errors;
    for (std::size_t row = 0; row < y.size(); ++row) {
      errors.push_back(y[row] - predict_without(components, x, y, row, std::pow(10, power / 3.0)));
      difference = std::max(difference, std::fabs(errors.back() - ridge.residuals()[row]));
    }
    least = std::min(least, difference);
    best = std::min(best, mean_square(errors));
  }
  EXPECT_LT(least, 1e-6) << what;
  EXPECT_NEAR(mean_square(ridge.residuals()), best, 1e-6 * best) << what;
}

TEST(Ridge, ResidualsAreThoseOfFitsWithoutTheRow) {
  const Tensor x = draw_data(5, 0, 40).x;
  check_residuals(x, linear_target(x, 2), "more rows than columns");
  const Tensor wide = draw_data(45, 0, 30).x;
  check_residuals(wide, linear_target(wide, 2), "more columns than rows");
  check_residuals(wide, draw_data(1, 0, 30).y.to_vector<double>(), "noise");
  // Rows that alone have a flag would predict themselves.
  for (std::int64_t flag = 1; flag < 5; ++flag) {
    for (std::int64_t row = 0; row < 40; ++row) {
      x.data_as<double>()[row * 5 + flag] = row == 7 * flag ? 1 : 0;
    }
  }
  check_residuals(x, linear_target(x, 2), "flags");
}

TEST(Ridge, NoiseIsNotSignificant) {
  int n_significant = 0;
  constexpr int kDraws = 20;
  Generator generator(8);
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t n_columns = i % 2 == 0 ? 150 : 10;
    const Tensor x = generator.normal({100, n_columns}, 0, 1, DType::f64);
    const auto y = generator.normal({100}, 0, 1, DType::f64).to_vector<double>();
    const Ridge ridge(components_of(x), x, y);
    n_significant += ridge.is_significant() ? 1 : 0;
    EXPECT_GT(mean_square(ridge.residuals()), 0.8 * mean_square(y)) << i;
    EXPECT_TRUE(Ridge(components_of(x), x, linear_target(x, 1)).is_significant()) << i;
  }
  EXPECT_LE(n_significant, 2);
}

TEST(Ridge, FindsALinearTarget) {
  const Data data = draw_data(5, 0, 60);
  const auto y = linear_target(data.x, 1e-4);
  const Ridge ridge(components_of(data.x), data.x, y);
  EXPECT_LT(mean_square(ridge.residuals()), 1e-6);
  const auto inside = ridge.predict(data.x);
  for (std::size_t row = 0; row < y.size(); ++row) EXPECT_NEAR(inside[row], y[row], 1e-2);
  // A prediction does not depend on the other rows.
  const auto all = ridge.predict(data.query);
  for (std::int64_t row = 0; row < 9; ++row) {
    const auto one = ridge.predict(data.query.slice(0, row, row + 1).contiguous());
    EXPECT_EQ(one, std::vector(1, all[static_cast<std::size_t>(row)]));
  }
}

TEST(Ridge, PredictsTheMeanOfNoise) {
  const Tensor x = draw_data(20, 0, 30).x;
  auto y = draw_data(1, 0, 30).y.to_vector<double>();
  std::ranges::rotate(y, y.begin() + 11);
  const Ridge ridge(components_of(x), x, y);
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / 30;
  double deviation = 0;
  for (const double value : y) deviation += (value - mean) * (value - mean) / 30;
  EXPECT_LT(mean_square(ridge.residuals()), 1.1 * deviation);
}

TEST(Ridge, CellsFarOutsideAndMissingCells) {
  const Data data = draw_data(3, 0, 50);
  const Ridge ridge(components_of(data.x), data.x, linear_target(data.x, 0.1));
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const Tensor far = Tensor::from<double>(
      std::vector<double>{1e300, 0, 0, -1e300, 0, 0, missing, missing, missing}, {3, 3});
  const auto made = ridge.predict(far);
  EXPECT_TRUE(std::isfinite(made[0]) && made[0] > 100);
  EXPECT_TRUE(std::isfinite(made[1]) && made[1] < 0);
  EXPECT_NEAR(made[2], ridge.intercept(), 1e-9);  // of the mean of all columns
  EXPECT_TRUE(ridge.predict(Tensor::empty({0, 3}, DType::f64)).empty());
}

TEST(Ridge, UnitsDoNotMatter) {
  const Tensor x = draw_data(4, 0, 50).x;
  const auto y = linear_target(x, 1);
  const Ridge plain(components_of(x), x, y);
  for (const double unit : {1e-200, 1e250}) {
    auto scaled = y;
    for (double& value : scaled) value *= unit;
    const Ridge ridge(components_of(x), x, scaled);
    for (std::size_t row = 0; row < y.size(); ++row) {
      EXPECT_NEAR(ridge.residuals()[row] / unit, plain.residuals()[row], 1e-9);
    }
  }
}

}  // namespace
}  // namespace causeway::models
