// Linear layers and attention on the CPU with operands rounded to bf16, against sums in f64.
#include "causeway/kernels/matmul/bf16_product_cpu.h"

#include "causeway/autograd/attention.h"
#include "causeway/autograd/matmul.h"
#include "causeway/runtime/threads.h"
#include "tests/kernels/attention_case.h"

#include <cmath>
#include <limits>

namespace causeway {
namespace {

using kernels::AttentionMask;
using kernels::cpu::bf16_paths;
using kernels::cpu::Bf16Products;

// Rounding to bf16 changes a number by at most 2^-8 of it, so a product of two by 2^-7 of it and
// half a unit in the last place of that. Sums round to f32 once or twice per element.
double product_error(std::int64_t inner) {
  return std::ldexp(1.0, -7) + std::ldexp(1.0, -16) +
         std::ldexp(static_cast<double>(inner + 4), -22);
}

const kernels::cpu::Bf16Kernels* tested = nullptr;

// For every path of the processor.
class Bf16Product : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (GetParam() >= bf16_paths().size()) {
      GTEST_SKIP() << "this processor has " << bf16_paths().size() << " paths of bf16 instructions";
    }
    tested = &bf16_paths()[GetParam()];
  }
  void TearDown() override { set_thread_count(n_threads_); }

  int n_threads_ = thread_count();
};
INSTANTIATE_TEST_SUITE_P(Paths, Bf16Product, testing::Values(0, 1));

Tensor draw(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return generator.normal(shape, 0, 1, DType::f32);
}

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {}) {
  const Bf16Products products(*tested);
  return autograd::linear(x, weight, bias);
}

void expect_linear(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  const Tensor x = draw({rows, inner}, 1);
  const Tensor weight = draw({columns, inner}, 2);
  const Tensor bias = draw({columns}, 3);
  const auto got = linear(x, weight, bias).to_vector<float>();
  ASSERT_EQ(std::ssize(got), rows * columns);
  for (std::int64_t at = 0; at < rows * columns; ++at) {
    double sum = bias.data_as<float>()[at % columns];
    double size = std::fabs(sum) * 1e-4;
    for (std::int64_t k = 0; k < inner; ++k) {
      const double term = static_cast<double>(x.data_as<float>()[at / columns * inner + k]) *
                          weight.data_as<float>()[at % columns * inner + k];
      sum += term;
      size += std::fabs(term);
    }
    ASSERT_NEAR(got[static_cast<std::size_t>(at)], sum, size * product_error(inner))
        << at << " of " << rows << " x " << columns << " over " << inner;
  }
}

TEST_P(Bf16Product, LinearLayersOfAnySize) {
  for (std::int64_t size = 0; size <= 18; ++size) {
    expect_linear(size, 11, 13);
    expect_linear(13, size, 11);
    expect_linear(11, 13, size);
  }
  expect_linear(1, 1, 1);
  expect_linear(333, 67, 130);
  expect_linear(170, 100, 259);
  expect_linear(9, 17, 5000);  // a panel of eight rows is larger than a block
}

// Elements of bf16 whose sums are exact: only the layout can go wrong.
TEST_P(Bf16Product, ExactForSmallIntegers) {
  Generator generator(4);
  for (const auto& [rows, columns, inner] :
       {std::array{40, 19, 33}, std::array{7, 9, 64}, std::array{100, 8, 6}}) {
    const Tensor x = generator.integers({rows, inner}, -8, 9).to(DType::f32);
    const Tensor weight = generator.integers({columns, inner}, -8, 9).to(DType::f32);
    const Tensor want = autograd::linear(x, weight);
    expect_same_bytes(linear(x, weight), want, "rows and columns");
    // The same matrices stored by columns.
    const Tensor turned = weight.transpose().contiguous().transpose();
    expect_same_bytes(linear(x, turned), want, "a transposed weight");
  }
}

TEST_P(Bf16Product, MlpIsTwoLayers) {
  const Tensor x = draw({37, 20}, 1);
  const Tensor in = draw({50, 20}, 2);
  const Tensor in_bias = draw({50}, 3);
  const Tensor out = draw({20, 50}, 4);
  const Tensor out_bias = draw({20}, 5);
  const Tensor hidden = unary(UnaryOp::gelu_tanh, linear(x, in, in_bias));
  const Tensor want = linear(hidden, out, out_bias);
  const Bf16Products products(*tested);
  // The two GELUs differ in the last place, which may change how an element rounds to bf16.
  expect_near(autograd::mlp(x, in, in_bias, out, out_bias), want, 1.0 / 256, "mlp");
}

TEST_P(Bf16Product, OnlyInItsScope) {
  const Tensor x = draw({40, 64}, 1);
  const Tensor weight = draw({24, 64}, 2);
  const Tensor want = autograd::linear(x, weight);
  {
    const Bf16Products on(*tested);
    EXPECT_NE(autograd::linear(x, weight).to_vector<float>(), want.to_vector<float>());
    const Bf16Products off(false);
    expect_same_bytes(autograd::linear(x, weight), want, "off");
    EXPECT_EQ(Bf16Products::kernels(), nullptr);
    const Bf16Products best(true);
    EXPECT_EQ(Bf16Products::kernels(), &bf16_paths().front());
  }
  expect_same_bytes(autograd::linear(x, weight), want, "after the scope");
}

TEST_P(Bf16Product, SameBitsForAnyThreadsAndRows) {
  const Tensor x = draw({301, 70}, 1);
  const Tensor weight = draw({43, 70}, 2);
  const Tensor bias = draw({43}, 3);
  set_thread_count(1);
  const Tensor want = linear(x, weight, bias);
  for (int threads : {2, 3, 7}) {
    set_thread_count(threads);
    expect_same_bytes(linear(x, weight, bias), want, fmt::format("{} threads", threads));
  }
  for (std::int64_t step : {1, 5, 8, 31, 200}) {
    for (std::int64_t row = 0; row < 301; row += step) {
      const std::int64_t end = std::min<std::int64_t>(row + step, 301);
      expect_same_bytes(linear(x.slice(0, row, end), weight, bias),
                        want.slice(0, row, end).contiguous(),
                        fmt::format("rows {} to {}", row, end));
    }
  }
}

TEST_P(Bf16Product, NanAndInfinityStayInTheirRow) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = draw({20, 30}, 1);
  const Tensor weight = draw({9, 30}, 2);
  const auto before = linear(x, weight).to_vector<float>();
  x.data_as<float>()[3 * 30 + 29] = std::nanf("");
  x.data_as<float>()[7 * 30 + 1] = infinity;
  x.data_as<float>()[9 * 30] = 3.4e38f;  // rounds to infinity in bf16
  const auto got = linear(x, weight).to_vector<float>();
  for (std::size_t at = 0; at < got.size(); ++at) {
    const std::size_t row = at / 9;
    const float sign = weight.data_as<float>()[at % 9 * 30 + (row == 7 ? 1 : 0)];
    if (row == 3) {
      EXPECT_TRUE(std::isnan(got[at]));
    } else if (row == 7 || row == 9) {
      EXPECT_EQ(got[at], std::copysign(infinity, sign));
    } else {
      EXPECT_EQ(got[at], before[at]);
    }
  }
}

// The error of a score is at most `of_score`, so that of a probability a factor exp(2 of_score);
// probabilities and values are rounded too.
void expect_attention(const AttentionCase& c) {
  const AttentionInputs inputs = draw_inputs(c, DType::f32);
  const AttentionResults want = reference_attention(c, inputs);
  AttentionInputs sizes{inputs.q, inputs.k, unary(UnaryOp::absolute, inputs.v), inputs.gradient};
  const auto bounds = reference_attention(c, sizes).out.to_vector<double>();
  const AttentionResults got = [&] {
    const Bf16Products products(*tested);
    return run_attention(c, inputs, Device::cpu());
  }();
  const auto norm = [](const Tensor& x, std::size_t row, std::int64_t size) {
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      sum += std::pow(x.data_as<float>()[static_cast<std::int64_t>(row) * size + i], 2);
    }
    return std::sqrt(sum);
  };
  const auto out = got.out.to_vector<float>();
  const auto wanted = want.out.to_vector<double>();
  const auto log_sum = got.log_sum.to_vector<float>();
  const auto wanted_log_sum = want.log_sum.to_vector<double>();
  for (std::size_t row = 0; row < log_sum.size(); ++row) {
    const auto head = row / static_cast<std::size_t>(c.n_queries);
    double longest = 0;  // key of the head
    for (std::int64_t key = 0; key < c.n_keys; ++key) {
      longest = std::max(
          longest,
          norm(inputs.k, head * static_cast<std::size_t>(c.n_keys) + static_cast<std::size_t>(key),
               c.head_size));
    }
    const double of_score =
        c.scale() * norm(inputs.q, row, c.head_size) * longest * product_error(c.head_size) + 1e-6;
    const double of_out = std::exp(2 * of_score) * (1 + product_error(c.n_keys)) - 1;
    if (wanted_log_sum[row] != log_sum[row]) {  // both are -infinity without keys
      ASSERT_NEAR(log_sum[row], wanted_log_sum[row], of_score + 1e-5)
          << c.name() << ", row " << row;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(c.head_size); ++i) {
      const std::size_t at = row * static_cast<std::size_t>(c.head_size) + i;
      ASSERT_NEAR(out[at], wanted[at], bounds[at] * of_out) << c.name() << ", element " << at;
    }
  }
  // Errors are random: together they are far below the sum of the bounds.
  expect_near(got.out, want.out, epsilon_of(DType::bf16), c.name());
}

TEST_P(Bf16Product, AttentionOfAnySize) {
  const auto full = AttentionMask::full;
  for (std::int64_t size = 1; size <= 19; ++size) {
    expect_attention({2, 1, size, 9, 12, full, {}, Placement::contiguous});
    expect_attention({1, 2, 5, size, 8, full, {}, Placement::contiguous});
    expect_attention({1, 2, 7, 11, size, full, {}, Placement::odd});
  }
  for (std::int64_t n_keys : {127, 128, 129, 133, 300}) {
    expect_attention({1, 2, 18, n_keys, 64, full, {}, Placement::bordered});
  }
  expect_attention({2, 2, 33, 33, 24, full, {}, Placement::packed});
  expect_attention({3, 2, 40, 40, 16, full, {0, 17, 40}, Placement::contiguous});
  expect_attention({3, 1, 70, 300, 32, full, {0, 256, 299}, Placement::bordered});
  // Masked attention stays in f32.
  const AttentionCase causal{1, 1, 20, 20, 16, AttentionMask::causal, {}, Placement::contiguous};
  const AttentionInputs inputs = draw_inputs(causal, DType::f32);
  const AttentionResults want = run_attention(causal, inputs, Device::cpu());
  const Bf16Products products(*tested);
  expect_same_results(run_attention(causal, inputs, Device::cpu()), want, "causal");
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Bf16Products products(*tested);
  return autograd::attention(q, k, v);
}

TEST_P(Bf16Product, AttentionHasTheSameBitsForAnyThreadsAndQueries) {
  const Tensor q = draw({1, 3, 77, 20}, 1);
  const Tensor k = draw({1, 3, 290, 20}, 2);
  const Tensor v = draw({1, 3, 290, 20}, 3);
  set_thread_count(1);
  const Tensor want = attention(q, k, v);
  for (int threads : {2, 3, 7}) {
    set_thread_count(threads);
    expect_same_bytes(attention(q, k, v), want, fmt::format("{} threads", threads));
  }
  for (std::int64_t step : {1, 3, 8, 16, 50}) {
    for (std::int64_t row = 0; row < 77; row += step) {
      const std::int64_t end = std::min<std::int64_t>(row + step, 77);
      expect_same_bytes(attention(q.slice(2, row, end), k, v), want.slice(2, row, end).contiguous(),
                        fmt::format("queries {} to {}", row, end));
    }
  }
}

TEST_P(Bf16Product, NanInAttentionStaysInItsRow) {
  const Tensor q = draw({1, 1, 20, 16}, 1);
  const Tensor k = draw({1, 1, 150, 16}, 2);
  const Tensor v = draw({1, 1, 150, 16}, 3);
  const auto before = attention(q, k, v).to_vector<float>();
  const auto expect_nan_in = [&](std::int64_t row, std::int64_t column) {
    const auto got = attention(q, k, v).to_vector<float>();
    for (std::int64_t at = 0; at < 20 * 16; ++at) {
      const bool is_there = (row < 0 || at / 16 == row) && (column < 0 || at % 16 == column);
      const float value = got[static_cast<std::size_t>(at)];
      EXPECT_TRUE(is_there ? std::isnan(value) : value == before[static_cast<std::size_t>(at)])
          << at << ": " << value;
    }
  };
  const auto with = [&](const Tensor& x, std::int64_t at, float value, std::int64_t row,
                        std::int64_t column) {
    const float kept = std::exchange(x.data_as<float>()[at], value);
    expect_nan_in(row, column);
    x.data_as<float>()[at] = kept;
  };
  with(q, 4 * 16 + 3, std::nanf(""), 4, -1);
  with(q, 19 * 16, std::numeric_limits<float>::infinity(), 19, -1);
  with(k, 140 * 16 + 3, std::nanf(""), -1, -1);
  with(k, 3 * 16, std::nanf(""), -1, -1);
  with(v, 149 * 16 + 5, std::nanf(""), -1, 5);
}

}  // namespace
}  // namespace causeway
