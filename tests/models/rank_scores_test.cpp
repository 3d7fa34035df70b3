// Ranks of columns that f32 cannot hold.
#include "causeway/models/rank_scores.h"

#include "causeway/models/column_transform.h"
#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace causeway::models {
namespace {

constexpr std::int64_t kRows = 400;

// A column of normal values of which each is changed.
Tensor column(const std::function<double(double, std::int64_t)>& change) {
  auto values = Generator(4).normal({kRows}, 0, 1, DType::f64).to_vector<double>();
  for (std::int64_t row = 0; row < kRows; ++row) {
    double& value = values[static_cast<std::size_t>(row)];
    value = change(value, row);
  }
  return Tensor::from<double>(values, {kRows, 1});
}

// The values that differ when a member has standardised them.
std::size_t count_distinct(const Tensor& x) {
  const std::vector<double> values = column_values(x, 0);
  const ColumnTransform transform(Transform::none, values);
  std::set<float> distinct;
  for (const double value : values) {
    if (!std::isnan(value)) distinct.insert(static_cast<float>(transform(value)));
  }
  return distinct.size();
}

TEST(RankScores, OrdinaryColumnsAreKept) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> ordinary = {
      column([](double x, std::int64_t) { return x; }),
      column([](double x, std::int64_t) { return 1e9 + std::floor(x); }),
      column([](double x, std::int64_t) { return std::exp(3 * x); }),
      column([](double x, std::int64_t row) { return row % 5 == 0 ? 99999 : x; }),
      column([&](double x, std::int64_t row) { return row % 3 == 0 ? missing : x * 1e300; }),
      column([](double x, std::int64_t) { return 1e12 + x; }),
      column([](double, std::int64_t row) { return row % 2 == 0 ? 0.3 : 0.1 + 0.2; }),
      column([](double, std::int64_t) { return 0.1; }),
      column([&](double, std::int64_t) { return missing; })};
  for (std::size_t i = 0; i < ordinary.size(); ++i) {
    EXPECT_TRUE(rank_columns(ordinary[i]).empty()) << i;
    EXPECT_EQ(with_ranks(ordinary[i], {}).data(), ordinary[i].data());
  }
}

TEST(RankScores, ColumnsThatF32CannotHoldAreRanked) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> wide = {
      column([](double x, std::int64_t row) { return row % 5 == 0 ? 1e10 : x; }),
      column([](double x, std::int64_t row) { return row % 50 == 0 ? -1e300 : x; }),
      column([](double x, std::int64_t row) { return row % 7 == 0 ? 1e308 * x : x; }),
      column([&](double x, std::int64_t row) { return row % 9 == 0 ? missing : std::exp(20 * x); }),
      column([](double x, std::int64_t) { return x * 1e-310; })};
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const RankedColumns ranked = rank_columns(wide[i]);
    ASSERT_EQ(ranked.size(), 1u) << i;
    const Tensor made = with_ranks(wide[i], ranked);
    EXPECT_GT(count_distinct(made), 5 * kRows / 7) << i;
    const auto before = wide[i].to_vector<double>();
    const auto after = made.to_vector<double>();
    for (std::size_t a = 0; a < before.size(); ++a) {
      EXPECT_EQ(std::isnan(before[a]), std::isnan(after[a])) << i;
      for (std::size_t b = 0; b < a; ++b) {
        if (before[a] < before[b]) EXPECT_LE(after[a], after[b]) << i;
      }
    }
    const RankScores& scores = ranked.begin()->second;
    EXPECT_EQ(scores(std::numeric_limits<double>::infinity()), scores.scores().back());
    EXPECT_EQ(scores(-std::numeric_limits<double>::infinity()), scores.scores().front());
  }
}

}  // namespace
}  // namespace causeway::models
