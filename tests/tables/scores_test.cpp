// Scores of predictions against counts of pairs, and against scikit-learn's numbers.
#include "causeway/tables/scores.h"

#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"

namespace causeway::tables {
namespace {

TEST(Scores, NumbersOfScikitLearn) {
  // roc_auc_score(multi_class="ovo"), accuracy_score and log_loss of these six rows.
  const std::vector<double> shares = {0.7, 0.2, 0.1, 0.3, 0.4, 0.3, 0.2, 0.2, 0.6,
                                      0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.4, 0.3, 0.3};
  const std::vector<std::int64_t> classes = {0, 1, 2, 1, 1, 2};
  EXPECT_NEAR(roc_auc(shares, classes, 3), 0.9722222222222223, 1e-12);
  EXPECT_NEAR(accuracy(shares, classes, 3), 4.0 / 6, 1e-12);
  EXPECT_NEAR(log_loss(shares, classes, 3), 0.7358134099241601, 1e-12);
  const std::vector<double> predicted = {2.5, 0.0, 2.0, 8.0};
  const std::vector<double> truth = {3.0, -0.5, 2.0, 7.0};
  EXPECT_NEAR(r2(predicted, truth), 0.9486081370449679, 1e-12);
  EXPECT_NEAR(root_mean_squared_error(predicted, truth), std::sqrt(0.375), 1e-12);
  EXPECT_NEAR(mean_absolute_error(predicted, truth), 0.5, 1e-12);
}

TEST(Scores, AreaIsPairsInOrder) {
  Generator generator(1);
  const Tensor drawn = generator.integers({50}, 0, 8);  // with ties
  const auto classes = generator.integers({50}, 0, 2).to_vector<std::int64_t>();
  std::vector<double> shares;
  for (const std::int64_t value : drawn.to_vector<std::int64_t>()) {
    const double share = static_cast<double>(value) / 8;
    shares.insert(shares.end(), {1 - share, share});
  }
  double won = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      if (classes[i] != 1 || classes[j] != 0) continue;
      const double difference = shares[2 * i + 1] - shares[2 * j + 1];
      won += difference > 0 ? 1 : (difference == 0 ? 0.5 : 0);
      pairs += 1;
    }
  }
  EXPECT_NEAR(roc_auc(shares, classes, 2), won / pairs, 1e-12);
}

TEST(Scores, ProbabilitiesMustBeFinite) {
  const std::vector<double> shares = {0.5, 0.5, std::nan(""), std::nan(""), 0.2, 0.8};
  const std::vector<std::int64_t> classes = {0, 1, 0};
  EXPECT_TRUE(
      data_test::says(data_test::failure([&] { (void)roc_auc(shares, classes, 2); }),
                      "invalid_argument: [roc_auc] the probabilities are not finite: row 1"));
}

TEST(Scores, Edges) {
  const std::vector<double> sure = {1, 0, 1, 0};
  const std::vector<std::int64_t> one = {0, 0};
  EXPECT_TRUE(std::isnan(roc_auc(sure, one, 2)));
  const std::vector<std::int64_t> wrong = {1, 1};
  EXPECT_NEAR(log_loss(sure, wrong, 2), -std::log(1e-15), 1e-9);
  const std::vector<double> same = {4, 4};
  EXPECT_EQ(r2(same, same), 1);
}

}  // namespace
}  // namespace causeway::tables
