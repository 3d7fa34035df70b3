// Transforms of columns: shapes, standardisation, missing values.
#include "causeway/models/column_transform.h"

#include "causeway/core/error.h"
#include "causeway/models/normal.h"
#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace causeway::models {
namespace {

std::vector<double> lognormal(std::int64_t n) {
  Generator generator(3);
  auto values = generator.normal({n}, 0, 1, DType::f64).to_vector<double>();
  for (double& value : values) value = std::exp(1.5 * value);
  return values;
}

double skewness(const std::vector<double>& values) {
  const auto scale = ColumnTransform::scale_of(values);
  double sum = 0;
  for (const double value : values) sum += std::pow(scale(value), 3);
  return sum / static_cast<double>(values.size());
}

std::vector<double> apply(const ColumnTransform& transform, std::vector<double> values) {
  for (double& value : values) value = transform(value);
  return values;
}

TEST(ColumnTransform, RemovesSkew) {
  const auto values = lognormal(3000);
  EXPECT_GT(skewness(apply({Transform::none, values}, values)), 4);
  for (const Transform kind : {Transform::power, Transform::quantile}) {
    const auto made = apply({kind, values}, values);
    EXPECT_LT(std::fabs(skewness(made)), 1) << to_string(kind);
    const auto scale = ColumnTransform::scale_of(made);
    EXPECT_NEAR(scale.mean, 0, 1e-9) << to_string(kind);
    EXPECT_NEAR(scale.deviation(), 1, 1e-9) << to_string(kind);
  }
}

TEST(ColumnTransform, Inverse) {
  auto values = lognormal(300);
  for (int sign = 0; sign < 2; ++sign) {
    for (const Transform kind : {Transform::none, Transform::power}) {
      const ColumnTransform transform(kind, values);
      for (const double value : values) {
        EXPECT_NEAR(transform.inverse(transform(value)), value, 1e-9 * (1 + std::fabs(value)));
      }
    }
    for (double& value : values) value = -value;
  }
  // No value has such a power: the exponent is negative.
  const ColumnTransform power(Transform::power, values);
  ASSERT_LT(power.exponent(), 0);
  EXPECT_TRUE(std::isinf(power.inverse(kMostDeviations)));
  EXPECT_EQ(ColumnTransform(Transform::power, std::vector<double>(5, 7)).inverse(1), 7);
}

// Normal scores of ranks, here of ranks 1 to 5 of 5.
TEST(ColumnTransform, QuantilesAreNormalScores) {
  const std::vector<double> values = {10, -3, 7, 1e6, 2};
  const ColumnTransform transform(Transform::quantile, values);
  const double unit = transform(1e6);
  const double share = normal_quantile(0.9) / normal_quantile(0.7);
  EXPECT_NEAR(transform(10) * share, unit, 1e-9);
  EXPECT_NEAR(transform(7), 0, 1e-9);
  EXPECT_NEAR(transform(-3), -unit, 1e-9);
  EXPECT_NEAR(transform(8.5), transform(10) / 2, 1e-9);
  EXPECT_EQ(transform(1e9), unit);  // beyond the context's values
}

// The deviation is that of the values, wherever they are.
TEST(ColumnTransform, FarFromZero) {
  const auto values = Generator(3).normal({500}, 0, 1, DType::f64).to_vector<double>();
  const ColumnTransform near(Transform::none, values);
  for (const double origin : {1e6, 1e9, 1e12, -1e12}) {
    std::vector<double> far = values;
    for (double& value : far) value += origin;
    const ColumnTransform transform(Transform::none, far);
    ASSERT_FALSE(transform.is_constant()) << origin;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(transform(far[i]), near(values[i]), 1e-15 * std::fabs(origin)) << origin;
    }
  }
  // Rounding is no signal.
  std::vector<double> rounded(100, 0.3);
  rounded[7] = 0.1 + 0.2;
  EXPECT_TRUE(ColumnTransform(Transform::none, rounded).is_constant());
}

TEST(ColumnTransform, IsMonotone) {
  const auto values = lognormal(1000);
  for (const Transform kind : {Transform::none, Transform::power, Transform::quantile}) {
    const ColumnTransform transform(kind, values);
    double before = -std::numeric_limits<double>::infinity();
    for (double value = -5; value < 60; value += 0.1) {
      EXPECT_GE(transform(value), before) << to_string(kind) << ", " << value;
      before = transform(value);
    }
  }
}

TEST(ColumnTransform, MissingAndConstant) {
  const double missing = std::nan("");
  for (const Transform kind : {Transform::none, Transform::power, Transform::quantile}) {
    const ColumnTransform transform(kind, std::vector{1.0, missing, 2.0});
    EXPECT_TRUE(std::isnan(transform(missing)));
    EXPECT_NEAR(transform(1), -1, 1e-9);  // a column of two values is the same in every form
    EXPECT_NEAR(transform(2), 1, 1e-9);
    EXPECT_LE(transform(1e300), 100);
    EXPECT_TRUE(ColumnTransform(kind, std::vector{3.0, 3.0, missing}).is_constant());
    EXPECT_TRUE(ColumnTransform(kind, std::vector{missing}).is_constant());
    EXPECT_EQ(parse_transform(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_transform(to_string(Transform::components)), Transform::components);
  EXPECT_THROW(parse_transform("log"), Error);
}

}  // namespace
}  // namespace causeway::models
