// Mode and quantiles of histograms.
#include "causeway/models/target_distribution.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <array>

namespace causeway::models {
namespace {

TargetDistribution two_rows() {
  return {{0, 1, 3, 4},
          Tensor::from<double>(std::vector{0.25, 0.5, 0.25, 0.0, 0.4, 0.6}, {2, 3}),
          Tensor::from<double>(std::vector{2, 2.9}, {2})};
}

TEST(TargetDistribution, Mode) {
  // All densities of the first row are equal; of the second, the narrow bin's is the greatest.
  EXPECT_EQ(two_rows().mode().to_vector<double>(), (std::vector{0.5, 3.5}));
}

TEST(TargetDistribution, Quantiles) {
  const auto got = two_rows().quantiles(std::array{0.0, 0.125, 0.5, 1.0}).to_vector<double>();
  const std::vector want = {0.0, 0.5, 2.0, 4.0, 1.0, 1.0 + 2 * 0.125 / 0.4, 3 + 0.1 / 0.6, 4.0};
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
  EXPECT_EQ(two_rows().median().to_vector<double>()[0], 2);
  const auto interval = two_rows().interval(0.5).to_vector<double>();
  EXPECT_NEAR(interval[0], 1, 1e-12);
  EXPECT_NEAR(interval[1], 3, 1e-12);
  EXPECT_THROW((void)two_rows().quantiles(std::array{1.5}), Error);
  EXPECT_THROW((void)two_rows().interval(1), Error);
}

TEST(TargetDistribution, ProbabilityBelow) {
  // The inverse of the quantiles.
  const TargetDistribution distribution = two_rows();
  for (const double share : {0.05, 0.125, 0.5, 0.9, 1.0}) {
    const auto at = distribution.quantiles(std::array{share}).to_vector<double>();
    for (const double below : distribution.below(at)) EXPECT_NEAR(below, share, 1e-12);
  }
  EXPECT_EQ(distribution.below(std::vector{-1.0, 9.0}), (std::vector{0.0, 1.0}));
}

TEST(TargetDistribution, AConstantTarget) {
  const TargetDistribution constant{
      {8, 8, 8}, Tensor::from<double>(std::vector{0.5, 0.5}, {1, 2}), full({1}, 8, DType::f64)};
  EXPECT_EQ(constant.mode().item(), 8);
  EXPECT_EQ(constant.median().item(), 8);
  EXPECT_EQ(constant.below(std::vector{7.0}), std::vector{0.0});
  EXPECT_EQ(constant.below(std::vector{9.0}), std::vector{1.0});
}

}  // namespace
}  // namespace causeway::models
