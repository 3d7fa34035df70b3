// The retrieval decoder against its definition.
#include "causeway/models/tabular_decoder.h"

#include "tests/models/tables.h"

#include <cmath>

namespace causeway {
namespace {

using Matrix = std::vector<std::vector<double>>;  // rows of one table

Matrix rows_of(const Tensor& x, std::int64_t table) {
  Matrix rows;
  for (std::int64_t row = 0; row < x.size(1); ++row) {
    rows.push_back(x.select(0, table).select(0, row).contiguous().to_vector<double>());
  }
  return rows;
}

Matrix linear(const Matrix& x, const Tensor& weight, const Tensor& bias) {
  const auto w = rows_of(weight.reshape({1, weight.size(0), weight.size(1)}), 0);
  const auto b = bias.to_vector<double>();
  Matrix out(x.size(), b);
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (std::size_t j = 0; j < x[row].size(); ++j) out[row][i] += w[i][j] * x[row][j];
    }
  }
  return out;
}

// More classes than a head has elements; one table without context rows.
TEST(TabularDecoder, RetrievalByDefinition) {
  constexpr std::int64_t kWidth = 16;
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kSize = kWidth / kHeads;
  constexpr std::int64_t kClasses = 19;
  Generator generator(3);
  models::RetrievalDecoder decoder(kWidth, kHeads, {DType::f64, Device::cpu(), &generator});
  const Tensor context = generator.normal({3, 12, kWidth}, 0, 2, DType::f64);
  const Tensor query = generator.normal({3, 5, kWidth}, 0, 2, DType::f64);
  const Tensor labels = generator.integers({3, 12}, 0, kClasses).to(DType::f32);
  const std::vector<std::int64_t> n_context = {12, 7, 0};
  const autograd::NoGrad no_grad;
  const Tensor got = decoder.logits(query, decoder.keys(context), labels,
                                    Tensor::from<std::int64_t>(n_context, {3}), kClasses);
  ASSERT_EQ(got.shape(), (Shape{3, 5, kClasses}));
  auto state = decoder.state();
  for (std::int64_t table = 0; table < 3; ++table) {
    const auto q = linear(rows_of(query, table), state.at("query.weight"), state.at("query.bias"));
    const auto k = linear(rows_of(context, table), state.at("key.weight"), state.at("key.bias"));
    for (std::size_t row = 0; row < 5; ++row) {
      std::vector<double> shares(kClasses, 0.0);
      for (std::size_t head = 0; head < kHeads; ++head) {
        std::vector<double> weights;
        double sum = 0;
        for (std::int64_t i = 0; i < n_context[static_cast<std::size_t>(table)]; ++i) {
          double dot = 0;
          for (std::size_t j = head * kSize; j < (head + 1) * kSize; ++j) {
            dot += q[row][j] * k[static_cast<std::size_t>(i)][j];
          }
          weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(kSize))));
          sum += weights.back();
        }
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const auto label = labels.data_as<float>()[table * 12 + static_cast<std::int64_t>(i)];
          shares[static_cast<std::size_t>(label)] += weights[i] / sum / kHeads;
        }
      }
      const auto logits = got.select(0, table)
                              .select(0, static_cast<std::int64_t>(row))
                              .contiguous()
                              .to_vector<double>();
      for (std::size_t c = 0; c < kClasses; ++c) {
        EXPECT_NEAR(logits[c], std::log(shares[c] + 1e-5), 1e-9) << table << " " << row;
      }
    }
  }
}

}  // namespace
}  // namespace causeway
