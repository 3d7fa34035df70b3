// Our own functions in math_device.h, against the C library in f64.
#include "causeway/kernels/math_device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace causeway {
namespace {

TEST(Math, GeluErrorIsSmallRelativeToItsArgument) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    const float x = elementary::from_bits(static_cast<std::uint32_t>(bits));
    if (!std::isnormal(x * 0.25f)) continue;  // subnormal results have few bits
    const double wide = x;
    const double want = wide * std::erfc(-wide / std::sqrt(2.0)) / 2;
    const double error = std::fabs(math::gelu(x) - want) / std::fabs(wide);
    if (!(error <= worst)) worst = error;
  }
  EXPECT_LE(worst, 1e-7);
}

TEST(Math, GeluOfExtremeValues) {
  EXPECT_EQ(math::gelu(INFINITY), INFINITY);
  EXPECT_NEAR(math::gelu(-INFINITY), 0, 1e-30);
  EXPECT_NEAR(math::gelu(-3e38f), 0, 1e-30);
  EXPECT_TRUE(std::isnan(math::gelu(NAN)));
  EXPECT_EQ(math::gelu(0.0f), 0);
}

}  // namespace
}  // namespace causeway
