#include "causeway/random/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace causeway {
namespace {

void expect_words(const Bits128& bits, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                  std::uint32_t d) {
  EXPECT_EQ(bits.word[0], a);
  EXPECT_EQ(bits.word[1], b);
  EXPECT_EQ(bits.word[2], c);
  EXPECT_EQ(bits.word[3], d);
}

// The published known answers of philox4x32-10.
TEST(Philox, KnownAnswers) {
  expect_words(philox(Bits128{{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const std::uint32_t ones = 0xffffffff;
  expect_words(philox(Bits128{{ones, ones, ones, ones}}, ones, ones), 0x408f276d, 0x41c83b0e,
               0xa20bc7c6, 0x6d5451fd);
  expect_words(
      philox(Bits128{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
      0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST(Philox, SeedStreamAndIndexFillKeyAndCounter) {
  const Bits128 direct =
      philox(Bits128{{0x55667788, 0x11223344, 0xddeeff00, 0x99aabbcc}}, 0x89abcdef, 0x01234567);
  const Bits128 named = philox(0x0123456789abcdefull, 0x99aabbccddeeff00ull, 0x1122334455667788ull);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(direct.word[i], named.word[i]);
}

double ulps(float value, double exact) {
  const float rounded = std::fabs(static_cast<float>(exact));
  return std::fabs(value - exact) / (std::nextafter(rounded, INFINITY) - rounded);
}

template <class Ours, class Exact>
double worst_ulps(Ours ours, Exact exact, float low, float high) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    const float x = elementary::from_bits(static_cast<std::uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double want = exact(static_cast<double>(x));
    if (std::isinf(static_cast<float>(want)) && std::isinf(ours(x))) continue;
    const double error = ulps(ours(x), want);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST(Elementary, WithinTwoUlps) {
  EXPECT_LE(worst_ulps(
                elementary::exp, [](double x) { return std::exp(x); }, -200, 88.7f),
            1.1);
  EXPECT_LE(worst_ulps(
                static_cast<float (*)(float)>(elementary::log),
                [](double x) { return std::log(x); }, 0, 3e38f),
            1.0);
  EXPECT_LE(worst_ulps(
                elementary::sin, [](double x) { return std::sin(x); }, -30000, 30000),
            2.0);
  EXPECT_LE(worst_ulps(
                elementary::cos, [](double x) { return std::cos(x); }, -30000, 30000),
            2.0);
  EXPECT_LE(worst_ulps(
                elementary::tanh, [](double x) { return std::tanh(x); }, -100, 100),
            2.0);
  EXPECT_LE(worst_ulps(
                elementary::erf, [](double x) { return std::erf(x); }, -100, 100),
            2.1);
}

TEST(Elementary, SpecialValues) {
  EXPECT_EQ(elementary::exp(-INFINITY), 0);
  EXPECT_EQ(elementary::exp(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(elementary::exp(NAN)));
  EXPECT_EQ(elementary::log(0.0f), -INFINITY);
  EXPECT_EQ(elementary::log(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(elementary::log(-1.0f)));
  EXPECT_TRUE(std::isnan(elementary::log(NAN)));
  EXPECT_TRUE(std::isnan(elementary::erf(NAN)));
  EXPECT_EQ(elementary::erf(INFINITY), 1);
  EXPECT_EQ(elementary::tanh(-INFINITY), -1);
  EXPECT_EQ(elementary::tanh(1e-40f), 1e-40f);
  EXPECT_TRUE(std::signbit(elementary::tanh(-0.0f)));
  EXPECT_TRUE(std::isnan(elementary::tanh(NAN)));
  EXPECT_TRUE(std::signbit(elementary::erf(-0.0f)));
}

TEST(Elementary, DoubleLogAndTurns) {
  for (int i = 1; i < 20000; ++i) {
    const double x = i * 0.37e-3;
    EXPECT_NEAR(elementary::log(x), std::log(x), 4e-16 * std::max(1.0, std::fabs(std::log(x))));
    const double turns = i / 20000.0;
    double sine, cosine;
    elementary::sincos_turns(turns, sine, cosine);
    EXPECT_NEAR(sine, std::sin(turns * 2 * std::numbers::pi), 1e-15);
    EXPECT_NEAR(cosine, std::cos(turns * 2 * std::numbers::pi), 1e-15);
  }
}

TEST(Distributions, ResultsStayInRange) {
  EXPECT_EQ(uniform_f32(0), 0);
  EXPECT_LT(uniform_f32(0xffffffff), 1);
  EXPECT_LT(uniform_f64(0xffffffff, 0xffffffff), 1);
  EXPECT_EQ(bounded_u64(0, 0, 10), 0u);
  EXPECT_EQ(bounded_u64(0xffffffff, 0xffffffff, 10), 9u);
  float a, b;
  normal_pair_f32(0, 0, a, b);
  EXPECT_TRUE(std::isfinite(a) && std::isfinite(b));
  EXPECT_GT(a, 6.6f);
  normal_pair_f32(0xffffffff, 0xffffffff, a, b);
  EXPECT_TRUE(std::isfinite(a) && std::isfinite(b));
}

}  // namespace
}  // namespace causeway
