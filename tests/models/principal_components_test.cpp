// Principal components: whitening, signs, missing cells, categories, rank, limits.
#include "causeway/models/principal_components.h"

#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace causeway::models {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::vector<std::int64_t> range(std::int64_t n) {
  std::vector<std::int64_t> made(static_cast<std::size_t>(n));
  std::iota(made.begin(), made.end(), 0);
  return made;
}

// Correlated columns of different units.
Tensor draw_table(std::int64_t n_rows, std::int64_t n_columns) {
  Generator generator(11);
  Tensor x = generator.normal({n_rows, n_columns}, 3, 1, DType::f64);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double* cells = x.data_as<double>() + row * n_columns;
    for (std::int64_t i = 1; i < n_columns; ++i) cells[i] = 1000 * cells[i] + 0.9 * cells[i - 1];
  }
  return x;
}

Tensor table_of_columns(const std::vector<std::vector<double>>& columns) {
  const auto n_rows = std::ssize(columns.front());
  Tensor x = Tensor::empty({n_rows, std::ssize(columns)}, DType::f64);
  double* to = x.data_as<double>();
  for (std::size_t row = 0; row < columns.front().size(); ++row) {
    for (const auto& column : columns) *to++ = column[row];
  }
  return x;
}

PrincipalComponents fit(const Tensor& x, const std::vector<bool>& categorical = {},
                        std::int64_t most = 100) {
  return {x, range(x.size(1)), {{}, categorical}, most};
}

std::vector<double> project(const PrincipalComponents& fitted, const Tensor& x) {
  return fitted.project(x.data_as<double>(), x.size(1), range(x.size(0)));
}

// The components of the rows that they are fitted to have mean 0 and the identity as covariance.
void expect_white(const PrincipalComponents& fitted, const Tensor& x) {
  const auto z = project(fitted, x);
  const std::int64_t n = fitted.size();
  for (std::int64_t a = 0; a < n; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      double product = 0;
      for (std::size_t row = 0; row < static_cast<std::size_t>(x.size(0)); ++row) {
        const double* of = z.data() + row * static_cast<std::size_t>(n);
        sum += of[a];
        product += of[a] * of[b];
      }
      const auto n_rows = static_cast<double>(x.size(0));
      EXPECT_NEAR(sum / n_rows, 0, 1e-9) << a;
      EXPECT_NEAR(product / n_rows, a == b ? 1 : 0, 1e-9) << a << ", " << b;
    }
  }
}

TEST(PrincipalComponents, AreWhite) {
  for (const std::int64_t n_columns : {2, 5, 12}) {
    const Tensor x = draw_table(300, n_columns);
    const PrincipalComponents fitted = fit(x);
    EXPECT_EQ(fitted.size(), n_columns);
    expect_white(fitted, x);
  }
}

// Of two standardised columns with a positive correlation the components are their sum and their
// difference; all loadings are equal in magnitude, so that the first column has a positive one.
TEST(PrincipalComponents, HaveOneSignAndDescendingVariance) {
  const Tensor x = table_of_columns({{1, 2, 3, 4, 5, 6}, {10, 30, 20, 40, 60, 50}});
  const PrincipalComponents fitted = fit(x);
  ASSERT_EQ(fitted.size(), 2);
  EXPECT_GT(fitted.factor(0, 0), 0);
  EXPECT_NEAR(fitted.factor(1, 0), fitted.factor(0, 0), 1e-12);
  EXPECT_GT(fitted.factor(0, 1), 0);
  EXPECT_NEAR(fitted.factor(1, 1), -fitted.factor(0, 1), 1e-12);
  // Factors are loadings over the deviation, which descends.
  EXPECT_LT(fitted.factor(0, 0), fitted.factor(0, 1));
  const PrincipalComponents many = fit(draw_table(200, 9));
  for (std::int64_t k = 0; k < 9; ++k) {
    double greatest = 0;
    double norm = 0;
    for (std::int64_t i = 0; i < 9; ++i) {
      if (std::fabs(many.factor(i, k)) > std::fabs(greatest)) greatest = many.factor(i, k);
      norm += many.factor(i, k) * many.factor(i, k);
    }
    EXPECT_GT(greatest, 0) << k;
    double before = 0;
    for (std::int64_t i = 0; k > 0 && i < 9; ++i) {
      before += many.factor(i, k - 1) * many.factor(i, k - 1);
    }
    EXPECT_GE(norm, before) << k;
  }
}

TEST(PrincipalComponents, MissingCellsAreTheMean) {
  const Tensor x = table_of_columns({{1, 2, kMissing, 4, 5, 0}, {10, 31, 20, kMissing, 62, 50}});
  const PrincipalComponents fitted = fit(x);
  ASSERT_EQ(fitted.inputs().size(), 2u);
  EXPECT_NEAR(fitted.inputs()[0].scale.mean, 12.0 / 5, 1e-12);
  EXPECT_EQ(fitted.inputs()[0](kMissing), 0);
  const Tensor query = table_of_columns({{kMissing, 12.0 / 5}, {kMissing, 173.0 / 5}});
  for (const double value : project(fitted, query)) EXPECT_NEAR(value, 0, 1e-12);
  // Also for a category.
  const PrincipalComponents coded = fit(x, {true, false});
  const auto z = project(coded, table_of_columns({{kMissing}, {173.0 / 5}}));
  for (const double value : z) EXPECT_NEAR(value, 0, 1e-12);
}

// Three levels make three indicators, of which two are independent.
TEST(PrincipalComponents, CategoriesAreOneHot) {
  const Tensor x = table_of_columns({{7, 7, 7, 3, 3, 5, 3, 7}, {1, 5, 2, 6, 3, 8, 9, 0}});
  const PrincipalComponents fitted = fit(x, {true, false});
  ASSERT_EQ(fitted.inputs().size(), 4u);
  const std::vector<double> levels = {7, 3, 5};  // by frequency
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fitted.inputs()[i].position, 0);
    EXPECT_EQ(fitted.inputs()[i].level, levels[i]);
  }
  EXPECT_TRUE(std::isnan(fitted.inputs()[3].level));
  EXPECT_EQ(fitted.size(), 3);
  expect_white(fitted, x);
  // Codes have no order: other ones give the same components.
  const Tensor recoded = table_of_columns({{0, 0, 0, 1, 1, 2, 1, 0}, {1, 5, 2, 6, 3, 8, 9, 0}});
  const auto want = project(fitted, x);
  const auto got = project(fit(recoded, {true, false}), recoded);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-9);
  EXPECT_EQ(fit(x).inputs().size(), 2u);  // numbers
  // A level without context rows has none of the indicators.
  EXPECT_LT(fitted.inputs()[0](4), 0);
}

TEST(PrincipalComponents, LevelsAreLimited) {
  constexpr std::int64_t n_rows = 600;
  std::vector<double> many;  // 50 levels; 10 to 19 are the most frequent
  std::vector<double> number;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    many.push_back(static_cast<double>(row < 500 ? row % 50 : 10 + row % 10));
    number.push_back(static_cast<double>((row * 37) % 101));
  }
  const PrincipalComponents one = fit(table_of_columns({many, number}), {true, false});
  ASSERT_EQ(one.inputs().size(), 33u);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(one.inputs()[i].level, 10 + static_cast<double>(i));
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(one.inputs()[10 + i].level, static_cast<double>(i));
  EXPECT_EQ(one.inputs()[20].level, 20);
  // 256 / 20 levels each, and at least 2.
  EXPECT_EQ(fit(table_of_columns(std::vector(20, many)), std::vector(20, true)).inputs().size(),
            20u * 12);
  EXPECT_EQ(fit(table_of_columns(std::vector(200, many)), std::vector(200, true)).inputs().size(),
            200u * 2);
}

TEST(PrincipalComponents, RankLimitsTheirNumber) {
  const Tensor x = draw_table(100, 3);
  std::vector<std::vector<double>> columns;
  for (std::int64_t i = 0; i < 3; ++i) columns.push_back(column_values(x, i));
  columns.push_back(columns[1]);   // a copy
  columns.emplace_back(100, 4.0);  // a constant
  columns.emplace_back();
  for (std::size_t row = 0; row < 100; ++row) columns.back().push_back(columns[0][row] * -3 + 8);
  const Tensor wide = table_of_columns(columns);
  const PrincipalComponents fitted = fit(wide);
  EXPECT_EQ(fitted.inputs().size(), 5u);
  EXPECT_EQ(fitted.size(), 3);
  expect_white(fitted, wide);
  EXPECT_EQ(fit(draw_table(4, 9)).size(), 3);  // fewer rows than columns
  EXPECT_EQ(fit(table_of_columns({{1, 2, 3}})).size(), 1);
  EXPECT_EQ(fit(table_of_columns({{1, 1, 1}, {kMissing, kMissing, kMissing}})).size(), 0);
  EXPECT_EQ(fit(draw_table(300, 12), {}, 5).size(), 5);
  expect_white(fit(draw_table(300, 12), {}, 5), draw_table(300, 12));
}

// Only the named columns count, in the order given.
TEST(PrincipalComponents, OfSomeColumns) {
  const Tensor x = draw_table(50, 6);
  const std::vector<std::int64_t> chosen = {1, 4};
  const PrincipalComponents some(x, chosen, {}, 100);
  const PrincipalComponents same =
      fit(table_of_columns({column_values(x, 1), column_values(x, 4)}));
  EXPECT_EQ(some.inputs()[1].position, 4);
  EXPECT_EQ(project(some, x),
            project(same, table_of_columns({column_values(x, 1), column_values(x, 4)})));
}

TEST(PrincipalComponents, HugeValuesStayFinite) {
  const double huge = std::numeric_limits<double>::max();
  const PrincipalComponents fitted =
      fit(table_of_columns({{-huge, huge, 1, 2}, {1e-300, 2e-300, 5e-300, 0}, {1, 4, 2, 3}}));
  EXPECT_EQ(fitted.size(), 3);
  const Tensor query = table_of_columns({{huge, -huge, 0}, {huge, -huge, 0}, {huge, -huge, 0}});
  for (const double value : project(fitted, query)) {
    EXPECT_TRUE(std::isfinite(value));
    EXPECT_LE(std::fabs(value), 100);
  }
}

// Bits of a row do not depend on the rows that are projected with it.
TEST(PrincipalComponents, RowsAreIndependent) {
  const Tensor x = draw_table(700, 11);
  const PrincipalComponents fitted = fit(x);
  const auto all = project(fitted, x);
  for (const std::int64_t row : {0, 127, 128, 131, 699}) {
    const std::vector<std::int64_t> one = {row};
    const auto alone = fitted.project(x.data_as<double>(), 11, one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * 11)) << row;
  }
}

}  // namespace
}  // namespace causeway::models
