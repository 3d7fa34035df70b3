// Layers against references computed in double precision, element by element.
#include "causeway/nn/layers.h"

#include "causeway/autograd/dropout.h"
#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace causeway::nn {
namespace {

using Values = std::vector<double>;

const Placement kDouble{DType::f64, Device::cpu(), nullptr};

Values values_of(const Tensor& x) { return autograd::detach(x).to(DType::f64).to_vector<double>(); }

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  return Tensor::from<T>(values, {static_cast<std::int64_t>(values.size())});
}

Tensor random(const Shape& shape, std::uint64_t seed) {
  return Generator(seed).normal(shape, 0, 1, DType::f64);
}

void expect_values(const Tensor& got, const Shape& shape, const Values& want,
                   double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), shape);
  const Values found = values_of(got);
  ASSERT_EQ(found.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(found[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
  }
}

// x (rows, in) times the transpose of weight (out, in), plus bias.
Values linear_reference(const Values& x, const Linear& layer) {
  const Values weight = values_of(layer.weight);
  const auto n_out = static_cast<std::size_t>(layer.weight.size(0));
  const auto n_in = static_cast<std::size_t>(layer.weight.size(1));
  const Values bias = layer.bias != nullptr ? values_of(*layer.bias) : Values(n_out, 0.0);
  Values out;
  for (std::size_t row = 0; row < x.size() / n_in; ++row) {
    for (std::size_t o = 0; o < n_out; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < n_in; ++i) sum += x[row * n_in + i] * weight[o * n_in + i];
      out.push_back(sum);
    }
  }
  return out;
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

TEST(NnLayers, Linear) {
  Linear with_bias(5, 3, true, kDouble);
  Linear without_bias(5, 3, false, kDouble);
  EXPECT_EQ(without_bias.bias, nullptr);
  const Tensor x = random({2, 4, 5}, 1);
  expect_values(with_bias(x), {2, 4, 3}, linear_reference(values_of(x), with_bias));
  expect_values(without_bias(x), {2, 4, 3}, linear_reference(values_of(x), without_bias));
  EXPECT_THROW(with_bias(random({2, 4}, 1)), Error);
}

TEST(NnLayers, InitialValuesAreWithinTheirBounds) {
  Generator generator(3);
  Linear layer(16, 200, true, {DType::f32, Device::cpu(), &generator});
  double largest = 0;
  for (const double value : values_of(layer.weight)) largest = std::max(largest, std::fabs(value));
  EXPECT_LE(largest, 0.25);  // 1 / sqrt(fan_in)
  EXPECT_GT(largest, 0.24);
  Generator again(3);
  Linear same(16, 200, true, {DType::f32, Device::cpu(), &again});
  EXPECT_EQ(values_of(same.weight), values_of(layer.weight));

  const Tensor weight = Tensor::empty({30, 20, 3}, DType::f64);
  EXPECT_EQ(fans_of(weight).in, 60);
  EXPECT_EQ(fans_of(weight).out, 90);
  EXPECT_THROW(fans_of(Tensor::empty({4})), Error);
  truncated_normal_(weight, 0.5, 2, generator);
  double squares = 0;
  for (const double value : values_of(weight)) {
    EXPECT_LE(std::fabs(value), 1.0);
    squares += value * value;
  }
  EXPECT_NEAR(std::sqrt(squares / 1800) / 0.5, 0.88, 0.05);  // of a normal cut at 2 deviations
}

TEST(NnLayers, EmbeddingSelectsRows) {
  Embedding layer(7, 2, kDouble);
  const Tensor index = tensor_of(std::vector<std::int64_t>{6, 0, 6});
  const Values table = values_of(layer.weight);
  const Tensor out = layer(index);
  expect_values(out, {3, 2}, {table[12], table[13], table[0], table[1], table[12], table[13]});
  autograd::backward(out, ones({3, 2}, DType::f64));
  Values gradient(14, 0.0);
  gradient[0] = gradient[1] = 1;
  gradient[12] = gradient[13] = 2;  // row 6 is used twice
  expect_values(*autograd::gradient_of(layer.weight), {7, 2}, gradient);
}

TEST(NnLayers, LayerNormAndRmsNorm) {
  constexpr std::size_t kWidth = 6;
  LayerNorm layer(kWidth, 1e-3, kDouble);
  RmsNorm rms(kWidth, 1e-3, kDouble);
  autograd::detach(*layer.weight).copy_from(random({kWidth}, 5));
  autograd::detach(*layer.bias).copy_from(random({kWidth}, 6));
  autograd::detach(rms.weight).copy_from(random({kWidth}, 7));
  const Tensor x = random({3, kWidth}, 8);
  const Values values = values_of(x);
  Values want, want_rms;
  for (std::size_t row = 0; row < 3; ++row) {
    double mean = 0, variance = 0, squares = 0;
    for (std::size_t i = 0; i < kWidth; ++i) mean += values[row * kWidth + i] / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double value = values[row * kWidth + i];
      variance += (value - mean) * (value - mean) / kWidth;
      squares += value * value / kWidth;
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double value = values[row * kWidth + i];
      want.push_back((value - mean) / std::sqrt(variance + 1e-3) * values_of(*layer.weight)[i] +
                     values_of(*layer.bias)[i]);
      want_rms.push_back(value / std::sqrt(squares + 1e-3) * values_of(rms.weight)[i]);
    }
  }
  expect_values(layer(x), {3, kWidth}, want);
  expect_values(rms(x), {3, kWidth}, want_rms);
  const autograd::AddNorm both = layer.add(x * Scalar(0.25), x * Scalar(0.75));
  expect_values(both.sum, {3, kWidth}, values);
  expect_values(both.normed, {3, kWidth}, want);
}

TEST(NnLayers, BatchNormUsesBatchAndRunningStatistics) {
  BatchNorm layer(1, 0.25, 0.0, kDouble);
  const Tensor x = tensor_of(Values{1, 3, 5, 7}).reshape({4, 1});
  expect_values(layer(x), {4, 1},
                {-3 / std::sqrt(5.0), -1 / std::sqrt(5.0), 1 / std::sqrt(5.0), 3 / std::sqrt(5.0)});
  expect_values(layer.running_mean, {1}, {0.25 * 4});
  expect_values(layer.running_variance, {1}, {0.75 + 0.25 * 20.0 / 3});  // unbiased
  layer.eval();
  const double deviation = std::sqrt(0.75 + 0.25 * 20.0 / 3);
  expect_values(layer(x), {4, 1}, {0, 2 / deviation, 4 / deviation, 6 / deviation});
  expect_values(layer.running_mean, {1}, {1});
}

TEST(NnLayers, DropoutScalesInTrainingOnly) {
  Dropout layer(0.25);
  autograd::manual_seed(9);
  const Tensor x = ones({10000});
  std::size_t n_zeros = 0;
  for (const double value : values_of(layer(x))) {
    n_zeros += value == 0 ? 1 : 0;
    if (value != 0) {
      EXPECT_FLOAT_EQ(static_cast<float>(value), 1 / 0.75f);
    }
  }
  EXPECT_NEAR(static_cast<double>(n_zeros), 2500, 200);
  layer.eval();
  EXPECT_EQ(values_of(layer(x)), Values(10000, 1.0));
  EXPECT_THROW(Dropout(1.5), Error);
}

TEST(NnLayers, Conv2dAndPooling) {
  autograd::Convolution how;
  how.stride = {1, 2};
  how.padding = {1, 0};
  Conv2d layer(2, 3, {2, 2}, how, true, kDouble);
  const Tensor x = random({1, 2, 3, 4}, 4);
  const Values image = values_of(x), weight = values_of(layer.weight),
               bias = values_of(*layer.bias);
  Values want;
  for (int o = 0; o < 3; ++o) {
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 2; ++column) {
        double sum = bias[static_cast<std::size_t>(o)];
        for (int c = 0; c < 2; ++c) {
          for (int i = 0; i < 4; ++i) {
            const int y = row - 1 + i / 2;
            if (y < 0 || y >= 3) continue;
            sum += image[static_cast<std::size_t>((c * 3 + y) * 4 + 2 * column + i % 2)] *
                   weight[static_cast<std::size_t>((o * 2 + c) * 4 + i)];
          }
        }
        want.push_back(sum);
      }
    }
  }
  expect_values(layer(x), {1, 3, 4, 2}, want);
  how.groups = 4;
  EXPECT_THROW(Conv2d(2, 3, {2, 2}, how), Error);
  expect_values(Flatten()(x), {1, 24}, image);
  expect_values(Unary(UnaryOp::relu)(tensor_of(Values{-1, 2})), {2}, {0, 2});
}

TEST(NnLayers, MlpIsTwoLinearLayersAroundGelu) {
  Mlp layer(4, 9, true, kDouble);
  const Tensor x = random({3, 4}, 2);
  Values hidden = linear_reference(values_of(x), *layer.in);
  for (double& value : hidden) value = gelu_tanh(value);
  expect_values(layer(x), {3, 4}, linear_reference(hidden, *layer.out));
}

// Softmax attention of one head, position by position.
Values attention_reference(const Values& qkv, std::size_t length, std::size_t width,
                           const std::vector<std::size_t>& n_keys) {
  Values out;
  for (std::size_t i = 0; i < length; ++i) {
    Values scores;
    double total = 0;
    for (std::size_t j = 0; j < n_keys[i]; ++j) {
      double score = 0;
      for (std::size_t k = 0; k < width; ++k) {
        score += qkv[i * 3 * width + k] * qkv[j * 3 * width + width + k];
      }
      scores.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
      total += scores.back();
    }
    for (std::size_t k = 0; k < width; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < n_keys[i]; ++j) {
        sum += scores[j] / total * qkv[j * 3 * width + 2 * width + k];
      }
      out.push_back(sum);
    }
  }
  return out;
}

TEST(NnLayers, AttentionWithCausalMaskAndContext) {
  constexpr std::int64_t kWidth = 8;
  const Tensor x = random({1, 3, kWidth}, 12);
  for (const bool causal : {false, true}) {
    Attention layer(kWidth, 1, causal, true, kDouble);
    const Values qkv = linear_reference(values_of(x), *layer.qkv);
    const std::vector<std::size_t> n_keys =
        causal ? std::vector<std::size_t>{1, 2, 3} : std::vector<std::size_t>{3, 3, 3};
    const Values heads = attention_reference(qkv, 3, kWidth, n_keys);
    expect_values(layer(x), {1, 3, kWidth}, linear_reference(heads, *layer.projection), 1e-6);
    if (causal) continue;
    const Values context = attention_reference(qkv, 3, kWidth, {2, 2, 2});
    expect_values(layer.forward_context(x, tensor_of(std::vector<std::int64_t>{2})), {1, 3, kWidth},
                  linear_reference(context, *layer.projection), 1e-6);
  }
  EXPECT_THROW(Attention(8, 3), Error);
}

}  // namespace
}  // namespace causeway::nn
