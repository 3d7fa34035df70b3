// Weights of ensemble members: the fits, and predictors that use them.
#include "causeway/models/member_weights.h"

#include "causeway/models/predictor.h"
#include "causeway/tensor/indexing.h"
#include "tests/data/scratch.h"
#include "tests/models/predictor_data.h"

#include <cmath>
#include <numeric>
#include <random>

namespace causeway {
namespace {

using data_test::failure;
using models::MemberWeights;
using models::TabularPredictor;

using Numbers = std::vector<double>;

double sum_of(const Numbers& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Predictions (rows, members) = target + error of each member.
Numbers with_errors(const Numbers& targets, const Numbers& deviations, double scale) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Numbers made;
  for (const double target : targets) {
    for (const double deviation : deviations) {
      made.push_back(scale * (target + deviation * normal(random)));
    }
  }
  return made;
}

Numbers draw_targets(std::size_t n) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  Numbers made;
  for (std::size_t i = 0; i < n; ++i) made.push_back(normal(random));
  return made;
}

Numbers equal(std::size_t n) { return Numbers(n, 1 / static_cast<double>(n)); }

TEST(MemberWeights, LeastSquares) {
  const Numbers targets = draw_targets(400);
  // Errors are independent: the best weights are inverse to their variances, 1, 1/4 and 1/64.
  const Numbers got =
      models::weights_of_least_squares(with_errors(targets, {0.5, 1, 4}, 1), targets, equal(3));
  EXPECT_NEAR(got[0], 0.79, 0.05);
  EXPECT_NEAR(got[1], 0.2, 0.05);
  EXPECT_NEAR(got[2], 0.01, 0.02);
  EXPECT_NEAR(sum_of(got), 1, 1e-12);
  // The unit of the target does not matter.
  Numbers large = targets;
  for (double& target : large) target *= 1e12;
  const Numbers scaled =
      models::weights_of_least_squares(with_errors(targets, {0.5, 1, 4}, 1e12), large, equal(3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(scaled[i], got[i], 1e-9);
  // A useless member gets nothing, and the others share what is left.
  const Numbers without = models::weights_of_least_squares(
      with_errors(targets, {0.5, 0.5, 1000}, 1), targets, equal(3));
  EXPECT_LT(without[2], 1e-4);
}

TEST(MemberWeights, WithoutWeightBefore) {
  const Numbers before{0.5, 0.5, 0};
  const auto third = [&](std::size_t n_rows, double deviation) {
    const Numbers targets = draw_targets(n_rows);
    const Numbers predictions = with_errors(targets, {1, 1, deviation}, 1);
    return models::weights_of_least_squares(predictions, targets, before)[2];
  };
  EXPECT_GT(third(400, 0.2), 0.8);
  EXPECT_LT(third(400, 3), 0.1);
  EXPECT_LT(third(3, 1), 0.2);  // where equal weights before give 0.33
}

TEST(MemberWeights, FewRowsChangeLittle) {
  const Numbers targets = draw_targets(3);
  const Numbers got =
      models::weights_of_least_squares(with_errors(targets, {0.5, 1, 1, 1}, 1), targets, equal(4));
  for (const double weight : got) EXPECT_NEAR(weight, 0.25, 0.2);
  const Numbers likely = models::weights_of_most_likelihood(Numbers{0.9, 0.1, 0.9, 0.1}, 2);
  EXPECT_GT(likely[0], 0.5);
  EXPECT_LT(likely[0], 0.65);
}

TEST(MemberWeights, EqualWhereNothingDiffers) {
  const Numbers same(40, 2.0);
  const Numbers targets(10, 1.0);
  EXPECT_EQ(models::weights_of_least_squares(same, targets, equal(4)), equal(4));
  EXPECT_EQ(models::weights_of_least_squares(same, Numbers(10, 2.0), equal(4)), equal(4));
  const Numbers likely = models::weights_of_most_likelihood(Numbers(40, 0.3), 4);
  for (const double weight : likely) EXPECT_NEAR(weight, 0.25, 1e-12);
  // No row was predicted with any probability.
  for (const double weight : models::weights_of_most_likelihood(Numbers(40, 0.0), 4)) {
    EXPECT_NEAR(weight, 0.25, 1e-12);
  }
}

TEST(MemberWeights, MostLikelihood) {
  Numbers probabilities;
  for (int row = 0; row < 500; ++row) {
    probabilities.insert(probabilities.end(), {0.9, 0.5, row % 10 == 0 ? 0.0 : 0.8});
  }
  const Numbers got = models::weights_of_most_likelihood(probabilities, 3);
  EXPECT_GT(got[0], 0.95);
  EXPECT_NEAR(sum_of(got), 1, 1e-9);
}

TEST(MemberWeights, Names) {
  for (const char* name : {"auto", "equal", "fitted"}) {
    EXPECT_STREQ(to_string(models::parse_member_weights(name)), name);
  }
  expect_words(failure([] { models::parse_member_weights("votes"); }),
               "expected auto, equal or fitted");
}

// A predictor like another, with all weight on one.
void restore_with(TabularPredictor& predictor, const TabularPredictor& other, std::size_t one) {
  TabularPredictor::State state = other.state();
  state.member_weights.assign(other.member_weights().size(), 0);
  state.member_weights[one] = 1;
  predictor.restore(state);
}

// The prediction is the weighted mean of those of the members.
TEST(Predictor, MembersHaveFittedWeights) {
  for (const bool regression : {false, true}) {
    const auto model = make_model(small("default", regression));
    const Data data = draw_data(3, regression ? 0 : 4, 200);
    models::PredictorOptions options;
    options.member_weights = MemberWeights::fitted;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x, data.y, regression ? 0 : 4);
    const Numbers weights = predictor.member_weights();
    ASSERT_EQ(weights.size(), 4u) << regression;
    EXPECT_NEAR(sum_of(weights), 1, 1e-9);
    EXPECT_NE(weights, Numbers(4, 0.25));
    const Tensor got = predictor.predict_proba(data.query);
    TabularPredictor other(model, options);
    Tensor mean;
    for (std::size_t i = 0; i < 4; ++i) {
      restore_with(other, predictor, i);
      const Tensor part = other.predict_proba(data.query) * Scalar(weights[i]);
      mean = i == 0 ? part : mean + part;
    }
    expect_within(got, mean, 1e-12, "weighted mean");
    other.restore(predictor.state());
    expect_same_bytes(other.predict_proba(data.query), got, "restored");
    TabularPredictor::State damaged = predictor.state();
    damaged.member_weights.pop_back();
    expect_words(failure([&] { other.restore(damaged); }), "3 member weights for 4 members");
  }
}

// Of a noisy linear target the linear fit itself predicts a part.
TEST(Predictor, TheLinearFitHasAWeight) {
  const auto model = make_model(small("default", true));
  Generator generator(7);
  const Tensor x = generator.normal({300, 4}, 0, 1, DType::f64);
  const Tensor noise = generator.normal({300}, 0, 1, DType::f64);
  const Tensor y = x.select(1, 0) * Scalar(2.0) + x.select(1, 1) + noise * Scalar(2.0);
  const Tensor query = generator.normal({40, 4}, 0, 0.5, DType::f64);
  TabularPredictor predictor(model, {});
  predictor.fit(x, y, 0);
  ASSERT_TRUE(predictor.ridge().has_value());
  const Numbers weights = predictor.member_weights();
  ASSERT_EQ(weights.size(), 5u);
  EXPECT_NEAR(sum_of(weights), 1, 1e-9);
  EXPECT_GT(weights.back(), 0.1);
  const Tensor got = predictor.predict_mean(query);
  TabularPredictor other(model, {});
  Tensor mean;
  for (std::size_t i = 0; i < 5; ++i) {
    restore_with(other, predictor, i);
    const models::TargetDistribution part = other.predict_distribution(query);
    if (i == 4) {
      const Numbers fit = predictor.ridge()->predict(query);
      expect_within(part.means, Tensor::from<double>(fit, {40}), 1e-9, "the fit");
      for (std::int64_t row = 0; row < 40; ++row) {
        EXPECT_NEAR(sum(part.probabilities.select(0, row)).item(), 1, 1e-9);
      }
    }
    const Tensor term = part.means * Scalar(weights[i]);
    mean = i == 0 ? term : mean + term;
  }
  expect_within(got, mean, 1e-6, "weighted mean");
  other.restore(predictor.state());
  expect_same_bytes(other.predict_mean(query), got, "restored");
  TabularPredictor::State damaged = predictor.state();
  damaged.member_weights.push_back(0);
  expect_words(failure([&] { other.restore(damaged); }), "6 member weights for 4 members");
  damaged = predictor.state();
  damaged.reads_residuals = false;
  expect_words(failure([&] { other.restore(damaged); }), "5 member weights for 4 members");
}

TEST(Predictor, ByDefaultOnlyRegressionFitsMemberWeights) {
  for (const bool regression : {false, true}) {
    const Data data = draw_data(3, regression ? 0 : 4, 60);
    TabularPredictor predictor(make_model(small("default", regression)), {});
    predictor.fit(data.x, data.y, regression ? 0 : 4);
    EXPECT_EQ(predictor.member_weights().empty(), !regression);
    // Too few rows to hold some back.
    predictor.fit(data.x.slice(0, 0, 19), data.y.slice(0, 0, 19), regression ? 0 : 4);
    EXPECT_TRUE(predictor.member_weights().empty());
  }
}

// Groups of classes are combined in another way; a single member has nothing to weigh.
TEST(Predictor, SomeEnsemblesHaveNoWeights) {
  const Data data = draw_data(3, 9, 200);
  models::PredictorOptions options;
  options.member_weights = MemberWeights::fitted;
  TabularPredictor predictor(make_model(small("default")), options);
  predictor.fit(data.x, data.y, 9);
  EXPECT_TRUE(predictor.member_weights().empty());
  options.n_estimators = 1;
  TabularPredictor one(make_model(small("default", true)), options);
  one.fit(data.x, data.y, 0);
  EXPECT_TRUE(one.member_weights().empty());
}

}  // namespace
}  // namespace causeway
