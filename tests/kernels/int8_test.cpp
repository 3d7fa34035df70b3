// Products of 8-bit integers: every path of the CPU against sums in 64 bits, rounding, linear
// layers, and the GPU against the CPU.
#include "causeway/kernels/int8/int8.h"

#include "causeway/kernels/int8/dot_cpu.h"
#include "causeway/models/quantize.h"
#include "tests/tensor/devices.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>

namespace causeway {
namespace {

using kernels::cpu::Int8Path;
using kernels::cpu::Int8Sums;
using kernels::cpu::Int8Tile;
using kernels::cpu::kTileInputs;
using kernels::cpu::kTileWeights;
using models::QuantizedMatrix;

using Row = std::vector<std::int8_t>;

Row drawn(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Row values(static_cast<std::size_t>(count));
  for (auto& value : values)
    value = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  return values;
}

Row filled(std::int64_t count, int value) {
  return Row(static_cast<std::size_t>(count), static_cast<std::int8_t>(value));
}

void expect_exact(const Int8Path& path, const std::vector<Row>& weights,
                  const std::vector<Row>& inputs) {
  Int8Tile tile;
  tile.count = std::ssize(weights[0]);
  for (int w = 0; w < kTileWeights; ++w)
    tile.weights[w] = weights[static_cast<std::size_t>(w)].data();
  for (int i = 0; i < kTileInputs; ++i) {
    const Row& row = inputs[static_cast<std::size_t>(i)];
    tile.inputs[i] = row.data();
    tile.input_sums[i] = std::accumulate(row.begin(), row.end(), 0);
  }
  Int8Sums sums;
  path.multiply(tile, sums);
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) {
      std::int64_t expected = 0;
      for (std::int64_t k = 0; k < tile.count; ++k)
        expected += tile.weights[w][k] * tile.inputs[i][k];
      EXPECT_EQ(sums[i][w], expected)
          << path.name << ", " << tile.count << " columns, input " << i << ", weight " << w;
    }
  }
}

TEST(Int8, EveryPathGivesTheExactSums) {
  ASSERT_STREQ(kernels::cpu::int8_paths().back().name, "plain");
  for (const Int8Path& path : kernels::cpu::int8_paths()) {
    for (const std::int64_t count : {0, 1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 768, 1025}) {
      std::vector<Row> weights;
      for (unsigned w = 0; w < kTileWeights; ++w) weights.push_back(drawn(count, w));
      weights[2] = filled(count, 0);
      expect_exact(path, weights, {drawn(count, 11), drawn(count, 12)});
      expect_exact(path, weights, {filled(count, 0), filled(count, -128)});
    }
    // Sums near the ends of 32 bits.
    const std::int64_t longest = kernels::kMaxInt8Columns;
    const std::vector<Row> ends{filled(longest, 127), filled(longest, -127), filled(longest, -128),
                                filled(longest, 0)};
    expect_exact(path, ends, {filled(longest, 127), filled(longest, -128)});
  }
}

std::vector<double> numbers(const Tensor& x) {
  return x.to(DType::f64).to(Device::cpu()).to_vector<double>();
}

TEST(Int8, RoundsRowsWithinOneHundredAndTwentySeven) {
  const float inf = std::numeric_limits<float>::infinity();
  const float smallest = std::numeric_limits<float>::denorm_min();
  // 190 units of the smallest number: the scale rounds to one unit.
  const Tensor matrix =
      Tensor::from<float>(std::vector<float>{0, 0, 0, -2, 1, 2, 190 * smallest, -190 * smallest, 0,
                                             1.5f, 127, -0.5f, inf, 1, 0, NAN, 1, 0},
                          {6, 3});
  const QuantizedMatrix rounded = models::quantize_rows(matrix);
  const auto values = numbers(rounded.values);
  const auto scales = numbers(rounded.scales);
  const std::vector<double> expected{0, 0, 0, -127, 64, 127, 127, -127, 0, 2, 127, 0};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), values.begin()));
  for (const double value : values) EXPECT_GE(value, -127);
  EXPECT_EQ(scales[0], 0);
  EXPECT_EQ(scales[3], 1);
  EXPECT_FALSE(std::isfinite(scales[4]));
  EXPECT_FALSE(std::isfinite(scales[5]));
}

// The product of the rounded matrices in f64.
std::vector<double> exact(const QuantizedMatrix& x, const QuantizedMatrix& weight,
                          const Tensor& bias) {
  const auto a = numbers(x.values);
  const auto b = numbers(weight.values);
  const auto a_scales = numbers(x.scales);
  const auto b_scales = numbers(weight.scales);
  const auto added = numbers(bias);
  const std::size_t k = a.size() / a_scales.size();
  std::vector<double> out;
  for (std::size_t i = 0; i < a_scales.size(); ++i) {
    for (std::size_t j = 0; j < b_scales.size(); ++j) {
      double sum = 0;
      for (std::size_t at = 0; at < k; ++at) sum += a[i * k + at] * b[j * k + at];
      out.push_back(sum * a_scales[i] * b_scales[j] + added[j]);
    }
  }
  return out;
}

TEST(Int8, LinearEqualsTheProductOfRoundedMatrices) {
  Generator generator(3);
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size size : {Size{1, 1, 1}, Size{2, 3, 5}, Size{31, 33, 32}, Size{67, 130, 96}}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = generator.normal({size.m, size.k}, 0, 1, dtype);
      const Tensor weight = generator.normal({size.n, size.k});
      const Tensor bias = generator.normal({size.n});
      weight.select(0, size.n / 2).copy_from(zeros({size.k}));
      const QuantizedMatrix rounded = models::quantize_rows(weight);
      const Tensor out = models::int8_linear(x, rounded, bias);
      ASSERT_EQ(out.dtype(), dtype);
      const auto expected = exact(models::quantize_rows(x), rounded, bias);
      const Tensor wide = Tensor::from<double>(expected, out.shape());
      expect_close(out, wide.to(dtype), "int8_linear", 2);
    }
  }
}

TEST(GpuInt8, RoundsLikeTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(4);
  for (const std::int64_t columns : {1, 31, 257, 3072}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Tensor matrix = generator.normal({33, columns}, 0, 1, dtype);
      matrix.select(0, 7).copy_from(zeros({columns}, dtype));
      const QuantizedMatrix here = models::quantize_rows(matrix);
      const QuantizedMatrix there = models::quantize_rows(matrix.to(Device::cuda()));
      EXPECT_EQ(numbers(here.values), numbers(there.values));
      EXPECT_EQ(numbers(here.scales), numbers(there.scales));
    }
  }
}

TEST(GpuInt8, LinearAgreesWithTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(5);
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size size : {Size{64, 96, 32}, Size{77, 2304, 768}, Size{513, 768, 3072}}) {
    ASSERT_TRUE(kernels::takes_int8_linear(Device::cuda(), size.m, size.n, size.k));
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = generator.normal({size.m, size.k}, 0, 1, dtype);
      const QuantizedMatrix weight = models::quantize_rows(generator.normal({size.n, size.k}));
      const Tensor bias = generator.normal({size.n});
      const QuantizedMatrix there{weight.values.to(Device::cuda()),
                                  weight.scales.to(Device::cuda())};
      expect_close(models::int8_linear(x.to(Device::cuda()), there, bias.to(Device::cuda()))
                       .to(Device::cpu()),
                   models::int8_linear(x, weight, bias), "int8_linear", 2);
    }
  }
  EXPECT_FALSE(kernels::takes_int8_linear(Device::cuda(), 64, 33, 32));  // rows of 33 numbers
  EXPECT_FALSE(kernels::takes_int8_linear(Device::cuda(), 64, 32, kernels::kMaxInt8Columns + 1));
}

}  // namespace
}  // namespace causeway
