// Predictions beyond the plain ensemble: many classes and columns, weights, transforms,
// calibration, state, embeddings, importance.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/tensor/reduce.h"
#include "tests/data/scratch.h"
#include "tests/models/predictor_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace causeway {
namespace {

using data_test::failure;
using models::TabularConfig;
using models::TabularPredictor;

TEST(Predictor, GroupsOfClassesForALinearDecoder) {
  const Data data = draw_data(3, 97, 400);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 3});
  predictor.fit(data.x, data.y, 97);
  ASSERT_EQ(predictor.warnings().size(), 1u);
  expect_words(predictor.warnings()[0], "97 classes are more than the model's 4: each of 16");
  const Tensor got = predictor.predict_proba(data.query);
  ASSERT_EQ(got.shape(), (Shape{9, 97}));
  for (std::int64_t row = 0; row < 9; ++row) {
    const auto of = got.select(0, row).to_vector<double>();
    EXPECT_NEAR(std::accumulate(of.begin(), of.end(), 0.0), 1, 1e-9);
  }
}

TEST(Predictor, WideTablesAreReadInParts) {
  const Data data = draw_data(50, 4);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 2, .max_features = 20});
  predictor.fit(data.x, data.y, 4);
  ASSERT_EQ(predictor.warnings().size(), 1u);
  expect_words(predictor.warnings()[0],
               "50 features are more than max_features = 20: each of 3 ensemble members");
  std::set<std::int64_t> read;
  for (const auto& member : predictor.members()) {
    EXPECT_EQ(member.columns.size(), 20u);
    read.insert(member.columns.begin(), member.columns.end());
  }
  EXPECT_EQ(read.size(), 50u);
  EXPECT_EQ(predictor.predict_proba(data.query).shape(), (Shape{9, 4}));
}

// Members read the target itself and a power of it in turn.
TEST(Predictor, TargetTransforms) {
  using models::TargetTransform;
  const auto model = make_model(small("default", true));
  Data data = draw_data(3, 0, 60);
  for (std::int64_t row = 0; row < 60; ++row) {
    double& y = data.y.data_as<double>()[row];
    y = std::exp(y);
  }
  const auto fitted = [&](std::vector<TargetTransform> transforms, models::Average average) {
    models::PredictorOptions options;
    options.target_transforms = std::move(transforms);
    options.average = average;
    options.member_weights = models::MemberWeights::equal;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x, data.y, 0);
    return predictor;
  };
  for (const auto average : {models::Average::probabilities, models::Average::logits}) {
    TabularPredictor both = fitted({TargetTransform::none, TargetTransform::power}, average);
    const auto got = both.predict_distribution(data.query);
    std::map<TargetTransform, Tensor> means;
    for (const TargetTransform transform : {TargetTransform::none, TargetTransform::power}) {
      TabularPredictor same = fitted({transform}, average);
      // The weight of the members with the other transform is 0.
      auto state = same.state();
      state.member_weights = transform == TargetTransform::none ? std::vector{0.5, 0.0, 0.5, 0.0}
                                                                : std::vector{0.0, 0.5, 0.0, 0.5};
      same.restore(state);
      means[transform] = same.predict_mean(data.query);
    }
    expect_within(got.means,
                  (means[TargetTransform::none] + means[TargetTransform::power]) * Scalar(0.5),
                  1e-9, to_string(average));
    expect_within(sum(got.probabilities, {1}), ones({9}, DType::f64), 1e-9, "probabilities");
    const auto& members = both.members();
    EXPECT_EQ(members[0].target_transform, TargetTransform::none);
    EXPECT_EQ(members[3].target_transform, TargetTransform::power);
    EXPECT_LT(both.context_targets(members[1]).front(), 3);
    TabularPredictor plain = fitted({TargetTransform::none}, average);
    EXPECT_EQ(std::ssize(plain.predict_distribution(data.query).edges), model->config().bins + 1);
  }
  expect_words(failure([&] { fitted({}, models::Average::logits); }), "target transforms");
}

// Members read residuals where a linear fit explains much of the target, else the target or a
// power.
TEST(Predictor, ResidualsOfTheTarget) {
  using enum models::TargetTransform;
  using Transforms = std::vector<models::TargetTransform>;
  const auto model = make_model(small("default", true));
  const Data data = draw_data(3, 0, 120);
  Tensor linear = data.y.clone();
  for (std::int64_t row = 0; row < 120; ++row) {
    linear.data_as<double>()[row] += 5 * data.x.data_as<double>()[3 * row];
  }
  models::PredictorOptions options;
  const auto fitted = [&](const Tensor& y, std::int64_t n_rows, std::int64_t n_members) {
    options.n_estimators = n_members;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x.slice(0, 0, n_rows), y.slice(0, 0, n_rows), 0);
    return predictor;
  };
  const auto read_by = [](const TabularPredictor& predictor) {
    Transforms made;
    for (const auto& member : predictor.members()) made.push_back(member.target_transform);
    return made;
  };
  TabularPredictor predictor = fitted(linear, 120, 4);
  EXPECT_EQ(read_by(predictor), (Transforms{none, power, residual, residual}));
  ASSERT_TRUE(predictor.ridge().has_value());
  const auto targets = predictor.context_targets(predictor.members()[2]);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = static_cast<std::size_t>(predictor.members()[2].rows[i]);
    const double want = predictor.bins().read(residual, predictor.ridge()->residuals()[row]);
    EXPECT_EQ(targets[i], want);
  }
  EXPECT_EQ(read_by(fitted(data.y, 120, 4)), (Transforms{none, power, none, power}));
  EXPECT_EQ(read_by(fitted(linear, 99, 4)), (Transforms{none, power, none, power}));
  EXPECT_FALSE(fitted(linear, 120, 2).ridge().has_value());
  options.target_transforms = {residual, power, none};
  EXPECT_EQ(read_by(fitted(data.y, 120, 1)), (Transforms{power}));
  EXPECT_EQ(read_by(fitted(data.y, 120, 3)), (Transforms{power, none, power}));
  EXPECT_EQ(read_by(fitted(linear, 120, 2)), (Transforms{residual, power}));
  options = {};
  EXPECT_EQ(read_by(fitted(full({120}, 2.5, DType::f64), 120, 3)), (Transforms{none, power, none}));
  // Large targets of a few rows are no reason.
  Tensor heavy = full({120}, 0.0, DType::f64);
  heavy.data_as<double>()[7] = 1e6 * data.x.data_as<double>()[21];
  EXPECT_EQ(read_by(fitted(heavy, 120, 4)), (Transforms{none, power, none, power}));

  TabularPredictor restored(model, {});
  restored.restore(predictor.state());
  EXPECT_EQ(predictor.state().reads_residuals, true);
  expect_same_bytes(restored.predict_mean(data.query), predictor.predict_mean(data.query), "mean");
  auto state = predictor.state();
  state.reads_residuals = false;  // on the verge of significance, other rounding might say so
  state.member_weights.clear();
  restored.restore(state);
  EXPECT_EQ(read_by(restored), (Transforms{none, power, none, power}));
  const auto all = predictor.predict_distribution(data.query);
  expect_within(sum(all.probabilities, {1}), ones({9}, DType::f64), 1e-9, "probabilities");
  for (std::int64_t row = 0; row < 9; ++row) {
    const auto one = predictor.predict_distribution(data.query.slice(0, row, row + 1));
    expect_within(one.probabilities, all.probabilities.slice(0, row, row + 1), 1e-6, "one row");
  }
}

// A row of weight 0 is as if it were not there, and equal weights change nothing.
TEST(Predictor, SampleWeights) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4, 40);
  const auto predict = [&](std::int64_t n_rows, const std::vector<double>& weights) {
    TabularPredictor predictor(model, {});
    predictor.fit(data.x.slice(0, 0, n_rows), data.y.slice(0, 0, n_rows), 4, {}, {weights, {}});
    return predictor.predict_proba(data.query);
  };
  std::vector<double> weights(40, 2.5);
  expect_same_bytes(predict(40, weights), predict(40, {}), "equal weights");
  std::fill(weights.begin() + 25, weights.end(), 0);
  expect_same_bytes(predict(40, weights), predict(25, {}), "weights of 0");
  weights[7] = 25;  // as much as ten others
  TabularPredictor predictor(model, {});
  predictor.fit(data.x, data.y, 4, {}, {weights, {}});
  std::set<std::vector<std::int64_t>> samples;
  for (const auto& member : predictor.members()) {
    EXPECT_EQ(member.rows.size(), 25u);
    const auto heavy = std::count(member.rows.begin(), member.rows.end(), 7);
    EXPECT_NEAR(static_cast<double>(heavy), 25 * 10.0 / 34, 1);
    samples.insert(member.rows);
  }
  EXPECT_GT(samples.size(), 1u);
  expect_same_bytes(predict(40, weights), predictor.predict_proba(data.query), "the same seed");
  expect_words(failure([&] { predict(40, {1, 2}); }), "2 sample weights for 40");
  expect_words(failure([&] { predict(40, std::vector<double>(40, 0)); }), "are 0");
  weights[3] = -1;
  expect_words(failure([&] { predict(40, weights); }), "expected finite numbers, 0 or more");
}

TEST(Predictor, ClassWeightsMultiplyProbabilities) {
  const Data data = draw_data(3, 4, 40);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  const Tensor plain = predictor.predict_proba(data.query);
  const std::vector<double> weights = models::balanced_class_weight(data.y, 4);
  double mean_weight = 0;
  for (const double c : data.y.to_vector<double>()) {
    mean_weight += weights[static_cast<std::size_t>(c)] / 40;
  }
  EXPECT_NEAR(mean_weight, 1, 1e-12);
  predictor.fit(data.x, data.y, 4, {}, {{}, weights});
  const Tensor weighted = plain * Tensor::from<double>(weights, {4});
  expect_within(predictor.predict_proba(data.query), weighted / sum(weighted, {1}, true), 1e-12,
                "weighted");
}

TEST(Predictor, TransformsOfMembers) {
  using models::Transform;
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4, 60);
  const auto skewed = [](const Tensor& x) { return unary(UnaryOp::exp, x * Scalar(2.0)); };
  models::PredictorOptions options;
  options.transforms = {Transform::quantile};
  TabularPredictor ranks(model, options);
  ranks.fit(data.x, data.y, 4);
  const Tensor first = ranks.predict_proba(data.x);
  ranks.fit(skewed(data.x), data.y, 4);
  expect_within(ranks.predict_proba(skewed(data.x)), first, 1e-5, "ranks do not change");
  options.transforms = {Transform::none, Transform::power};
  TabularPredictor mixed(model, options);
  mixed.fit(data.x, data.y, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(mixed.members()[i].transform, options.transforms[i % 2]);
  }
}

// The temperature of the least loss of a model that is far too sure is above 1. An ensemble of such
// models is not: it averages rotations of the classes.
void expect_calibration(const std::vector<models::Transform>& transforms) {
  for (const bool regression : {false, true}) {
    const auto model = make_model(small("default", regression));
    for (const auto& [name, parameter] : model->named_parameters()) {
      if (!name.starts_with("decoder.out")) continue;
      const Tensor weight = autograd::detach(parameter);
      weight.copy_from(weight * Scalar(40.0));
    }
    const Data data = draw_data(3, regression ? 0 : 4, 200);
    models::PredictorOptions options;
    options.n_estimators = 1;
    options.transforms = transforms;
    options.temperature = models::kCalibrated;
    TabularPredictor predictor(model, options);
    predictor.fit(data.x, data.y, 4);
    EXPECT_GT(predictor.temperature(), 1.1) << regression;
    options.temperature = predictor.temperature();
    TabularPredictor fixed(model, options);
    fixed.fit(data.x, data.y, 4);
    expect_same_bytes(fixed.predict_proba(data.query), predictor.predict_proba(data.query),
                      "the same temperature");
  }
}

TEST(Predictor, CalibratesTheTemperature) {
  expect_calibration({models::Transform::none});
  expect_calibration({models::Transform::components});
}

TEST(Predictor, RestoresItsState) {
  for (const TabularConfig& config : {small("default"), small("default", true)}) {
    const auto model = make_model(config);
    const Data data = draw_data(8, config.classes, 90);
    models::PredictorOptions options;
    options.max_rows = 30;
    options.max_features = 5;
    options.transforms = {models::Transform::power, models::Transform::none};
    options.temperature = 0.8;
    TabularPredictor predictor(model, options);
    std::vector<double> weights(90, 1);
    weights[11] = 5;
    predictor.fit(data.x, data.y, config.classes, {}, {weights, {}});
    TabularPredictor other(model, options);
    other.restore(predictor.state());
    expect_same_bytes(other.predict_proba(data.query), predictor.predict_proba(data.query),
                      "restored");
  }
}

TEST(Predictor, EmbedsRows) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(model, {.n_estimators = 1});
  predictor.fit(data.x, data.y, 4);
  const Tensor embedded = predictor.embed(data.query);
  ASSERT_EQ(embedded.shape(), (Shape{9, 16}));
  expect_within(predictor.embed(data.query.slice(0, 3, 5)), embedded.slice(0, 3, 5).contiguous(),
                1e-6, "chunks");
}

// An empty group changes nothing.
TEST(Predictor, ImportanceIsTheChangeWithoutAColumn) {
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  std::vector<double> done;
  const auto got = predictor
                       .importance(data.query, {{0}, {1}, {}, {0, 2}},
                                   [&](double fraction) { done.push_back(fraction); })
                       .to_vector<double>();
  EXPECT_NEAR(got[2], 0, 1e-6);
  EXPECT_NEAR(done.back(), 1, 1e-9);
  const Tensor without = data.query.clone();
  without.select(1, 1).copy_from(full({}, std::nan(""), DType::f64));
  const auto p = predictor.predict_proba(data.query).to_vector<double>();
  const auto q = predictor.predict_proba(without).to_vector<double>();
  double divergence = 0;
  for (std::size_t i = 0; i < p.size(); ++i) divergence += p[i] * std::log(p[i] / q[i]) / 9;
  EXPECT_NEAR(got[1], divergence, 1e-6);
  EXPECT_GT(divergence, 0);
}

}  // namespace
}  // namespace causeway
