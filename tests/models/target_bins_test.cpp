// Bins of a transformed target: mapped back to the target, and joined with those of others.
#include "causeway/models/target_bins.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace causeway::models {
namespace {

using Transforms = std::vector<TargetTransform>;

const TargetBins::OfModel kBins = {{-1, -0.2, 0.3, 1.2}, {-1.5, -0.5, 0.1, 0.7, 1.6}};
const std::vector<double> kProbabilities = {0.1, 0.2, 0.4, 0.25, 0.05};

std::vector<double> skewed_target() {
  Generator generator(9);
  auto values = generator.normal({500}, 0, 1, DType::f64).to_vector<double>();
  for (double& value : values) value = 5 + std::exp(value);
  return values;
}

TargetBins::Part part_of(TargetTransform transform, double weight) {
  return {transform, Tensor::from<double>(kProbabilities, {1, 5}), weight};
}

// The probability of less than `edge`, of bins of constant density between `ends`.
double below(const std::vector<double>& ends, double edge) {
  double sum = 0;
  for (std::size_t bin = 0; bin < kProbabilities.size(); ++bin) {
    const double share = (edge - ends[bin]) / (ends[bin + 1] - ends[bin]);
    sum += kProbabilities[bin] * std::clamp(share, 0.0, 1.0);
  }
  return sum;
}

TEST(TargetBins, WithoutATransform) {
  const std::vector<double> y = {10, 14};  // mean 12, deviation 2
  const TargetBins bins(kBins, y, {}, Transforms{TargetTransform::none});
  EXPECT_EQ(bins.edges(), (std::vector<double>{8, 10, 11.6, 12.6, 14.4, 16}));
  EXPECT_EQ(bins.read(TargetTransform::none, 14), 1);
  const TargetDistribution made = bins.join({part_of(TargetTransform::none, 1)}, {});
  EXPECT_EQ(made.probabilities.to_vector<double>(), kProbabilities);
  EXPECT_NEAR(made.means.item(),
              12 + 2 * (-1.5 * 0.1 - 0.5 * 0.2 + 0.1 * 0.4 + 0.7 * 0.25 + 1.6 * 0.05), 1e-12);
}

// The outer bins reach to the extremes of the context rows.
TEST(TargetBins, CoverAllTargets) {
  std::vector<double> y(100, 0);
  y[0] = 1000;
  const TargetBins plain(kBins, y, {}, Transforms{TargetTransform::none});
  EXPECT_EQ(plain.edges().back(), 1000);
  for (const Transforms& transforms : {Transforms{TargetTransform::power},
                                       Transforms{TargetTransform::none, TargetTransform::power}}) {
    const TargetBins bins(kBins, y, {}, transforms);
    EXPECT_LE(bins.edges().front(), 0);
    EXPECT_NEAR(bins.edges().back(), 1000, 1e-6);
  }
}

// Each part keeps its probabilities below every edge, though the bins are divided.
TEST(TargetBins, JoinedBinsKeepTheProbabilities) {
  const auto y = skewed_target();
  const TargetBins bins(
      kBins, y, {},
      Transforms{TargetTransform::none, TargetTransform::power, TargetTransform::none});
  EXPECT_EQ(bins.transforms(), (Transforms{TargetTransform::none, TargetTransform::power}));
  EXPECT_GT(bins.edges().size(), 8u);
  EXPECT_TRUE(std::is_sorted(bins.edges().begin(), bins.edges().end()));
  for (const TargetTransform transform : {TargetTransform::none, TargetTransform::power}) {
    const TargetBins alone(kBins, y, {}, Transforms{transform});
    std::vector<double> ends;  // of the transformed target
    for (const double edge : alone.edges()) ends.push_back(alone.read(transform, edge));
    const TargetDistribution made = bins.join({part_of(transform, 1)}, {});
    const auto p = made.probabilities.to_vector<double>();
    double sum = 0;
    for (std::size_t bin = 0; bin < p.size(); ++bin) {
      sum += p[bin];
      if (bin + 1 == p.size()) break;
      const double edge = bins.read(transform, bins.edges()[bin + 1]);
      EXPECT_NEAR(sum, below(ends, edge), 1e-9) << to_string(transform) << ", bin " << bin;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(made.means.item(), alone.join({part_of(transform, 1)}, {}).means.item(), 1e-12);
  }
  const TargetDistribution both =
      bins.join({part_of(TargetTransform::none, 0.3), part_of(TargetTransform::power, 0.7)}, {});
  const double means[] = {bins.mean(TargetTransform::none, kProbabilities.data(), 0),
                          bins.mean(TargetTransform::power, kProbabilities.data(), 0)};
  EXPECT_NEAR(both.means.item(), 0.3 * means[0] + 0.7 * means[1], 1e-12);
  const auto p = both.probabilities.to_vector<double>();
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
}

// The mean of a bin is that of the targets in it, not the target of the bin's mean.
TEST(TargetBins, MeansOfPowers) {
  const auto y = skewed_target();
  const ColumnTransform power(Transform::power, y);
  const TargetBins bins(kBins, y, {}, Transforms{TargetTransform::power});
  constexpr int kSteps = 100'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    sum += power.inverse(0.3 + (i + 0.5) / kSteps * 0.9) / kSteps;  // the bin from 0.3 to 1.2
  }
  // 0.7 is not the middle, which is 0.75.
  const double shift = power.inverse(0.75) - power.inverse(0.7);
  EXPECT_NEAR(bins.centres(TargetTransform::power)[3], sum - shift, 0.1 * shift);
  EXPECT_GT(sum, power.inverse(0.75));
}

// Where a power has a greatest value, the model can still predict more.
TEST(TargetBins, BeyondTheRangeOfAPower) {
  std::vector<double> y;
  for (int i = 1; i <= 200; ++i) y.push_back(std::pow(i / 200.0, -3));
  const ColumnTransform power(Transform::power, y);
  ASSERT_LT(power.exponent(), 0);
  EXPECT_TRUE(std::isinf(power.inverse(50)));
  const TargetBins::OfModel wide = {{-50, 0, 50}, {-60, -20, 20, 60}};
  const TargetBins bins(wide, y, {}, Transforms{TargetTransform::none, TargetTransform::power});
  for (const double edge : bins.edges()) EXPECT_TRUE(std::isfinite(edge));
  for (const double centre : bins.centres(TargetTransform::power)) {
    EXPECT_GE(centre, bins.edges().front() * (1 + 1e-12));  // which is negative
    EXPECT_LE(centre, bins.edges().back() * (1 + 1e-12));
  }
  const Tensor last = Tensor::from<double>(std::vector<double>{0, 0, 0, 1}, {1, 4});
  const auto p =
      bins.join({{TargetTransform::power, last, 1.0}}, {}).probabilities.to_vector<double>();
  EXPECT_NEAR(p.back(), 1, 1e-12);
}

TEST(TargetBins, AConstantTarget) {
  const std::vector<double> y(30, 7.25);
  const TargetBins bins(kBins, y, {}, Transforms{TargetTransform::none, TargetTransform::power});
  const TargetDistribution made =
      bins.join({part_of(TargetTransform::none, 0.5), part_of(TargetTransform::power, 0.5)}, {});
  EXPECT_EQ(made.means.item(), 7.25);
  EXPECT_EQ(made.median().item(), 7.25);
  EXPECT_EQ(bins.read(TargetTransform::power, 7.25), 0);
}

// A linear fit's prediction moves the bins of its residuals.
TEST(TargetBins, ResidualsLieAroundTheFit) {
  const std::vector<double> y = {10, 14};             // edges from 8 to 16
  const std::vector<double> residuals = {-0.5, 0.5};  // edges -1, -0.5, -0.1, 0.15, 0.6 and 1
  const TargetBins bins(kBins, y, residuals, Transforms{TargetTransform::residual});
  EXPECT_EQ(bins.edges(), (std::vector<double>{8, 10, 11.6, 12.6, 14.4, 16}));
  EXPECT_EQ(bins.read(TargetTransform::residual, -0.5), -1);
  const Tensor probabilities =
      Tensor::from<double>(kProbabilities, {1, 5}).expand({4, 5}).contiguous();
  const std::vector<double> fit = {13.5, 11.6, 8, 1e6};
  const TargetDistribution made = bins.join({{TargetTransform::residual, probabilities, 1}}, fit);
  const auto p = made.probabilities.to_vector<double>();
  const auto means = made.means.to_vector<double>();
  const double of_residual = 0.5 * (-1.5 * 0.1 - 0.5 * 0.2 + 0.1 * 0.4 + 0.7 * 0.25 + 1.6 * 0.05);
  EXPECT_NEAR(means[0], 13.5 + of_residual, 1e-12);
  EXPECT_NEAR(means[1], 11.6 + of_residual, 1e-12);
  EXPECT_GT(means[2], 8);
  EXPECT_EQ(means[3], 16);
  for (std::size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::size_t bin = 0; bin < 5; ++bin) {
      const std::vector<double> ends = {fit[row] - 1,    fit[row] - 0.5, fit[row] - 0.1,
                                        fit[row] + 0.15, fit[row] + 0.6, fit[row] + 1};
      sum += p[row * 5 + bin];
      const double expected = bin == 4 ? 1 : below(ends, bins.edges()[bin + 1]);
      EXPECT_NEAR(sum, expected, 1e-12) << "row " << row << ", bin " << bin;
    }
  }
}

// A fit that leaves nothing predicts itself.
TEST(TargetBins, ResidualsOfAnExactFit) {
  const auto y = skewed_target();
  const std::vector<double> residuals(y.size(), 0);
  const TargetBins bins(kBins, y, residuals,
                        Transforms{TargetTransform::residual, TargetTransform::power});
  const std::vector<double> fit = {y[3]};
  const TargetDistribution made = bins.join({part_of(TargetTransform::residual, 1)}, fit);
  EXPECT_EQ(made.means.item(), y[3]);
  const auto p = made.probabilities.to_vector<double>();
  const auto bin = std::ranges::max_element(p) - p.begin();
  EXPECT_NEAR(p[static_cast<std::size_t>(bin)], 1, 1e-12);
  EXPECT_LE(bins.edges()[static_cast<std::size_t>(bin)], y[3]);
  EXPECT_GE(bins.edges()[static_cast<std::size_t>(bin) + 1], y[3]);
}

TEST(TargetTransform, Names) {
  using enum TargetTransform;
  for (const TargetTransform each : {none, power, residual}) {
    EXPECT_EQ(parse_target_transform(to_string(each)), each);
  }
  EXPECT_THROW(parse_target_transform("quantile"), Error);
}

}  // namespace
}  // namespace causeway::models
