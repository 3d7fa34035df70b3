// Predictions for numeric tables: the ensemble, contexts, progress, errors; models in files.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/tabular_file.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/reduce.h"
#include "tests/data/scratch.h"
#include "tests/models/tables.h"

#include <map>
#include <numeric>
#include <set>

namespace causeway {
namespace {

using data_test::failure;
using data_test::Scratch;
using models::TabularConfig;
using models::TabularPredictor;
using models::TabularTransformer;

std::shared_ptr<TabularTransformer> make_model(const TabularConfig& config) {
  Generator generator(5);
  return std::make_shared<TabularTransformer>(config,
                                              nn::Placement{DType::f32, Device::cpu(), &generator});
}

struct Data {
  Tensor x;
  Tensor y;
  Tensor query;
};

Data draw_data(std::int64_t n_features, std::int64_t n_classes, std::int64_t n_rows = 20) {
  Generator generator(7);
  const Tensor y = n_classes > 0 ? generator.integers({n_rows}, 0, n_classes).to(DType::f64)
                                 : generator.normal({n_rows}, 3, 2, DType::f64);
  return {generator.normal({n_rows, n_features}, 0, 1, DType::f64), y,
          generator.normal({9, n_features}, 0, 1, DType::f64)};
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

void expect_within(const Tensor& got, const Tensor& want, double limit, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.to_vector<double>();
  const auto b = want.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << what << ", " << i;
}

// 100 classes for a model of 4, of which the context rows have 97 at most.
TEST(Predictor, RetrievalTakesAnyNumberOfClasses) {
  TabularConfig config = small("default");
  config.decoder = models::TabularDecoder::retrieval;
  const auto model = make_model(config);
  const Data data = draw_data(3, 97, 400);
  TabularPredictor predictor(model, {.n_estimators = 3});
  predictor.fit(data.x, data.y, 100);
  const Tensor got = predictor.predict_proba(data.query);
  ASSERT_EQ(got.shape(), (Shape{9, 100}));
  for (std::int64_t row = 0; row < 9; ++row) {
    const auto of = got.select(0, row).to_vector<double>();
    EXPECT_NEAR(std::accumulate(of.begin(), of.end(), 0.0), 1, 1e-9);
    for (std::size_t c = 97; c < 100; ++c) EXPECT_LT(of[c], 1e-4);  // without context rows
  }
  EXPECT_TRUE(predictor.warnings().empty());
}

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

// The temperature of the least loss of a model that is far too sure is above 1.
TEST(Predictor, CalibratesTheTemperature) {
  for (const bool regression : {false, true}) {
    const auto model = make_model(small("default", regression));
    for (const auto& [name, parameter] : model->named_parameters()) {
      if (!name.starts_with("decoder.out")) continue;
      const Tensor weight = autograd::detach(parameter);
      weight.copy_from(weight * Scalar(40.0));
    }
    const Data data = draw_data(3, regression ? 0 : 4, 200);
    models::PredictorOptions options;
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

TEST(Predictor, OneEstimatorIsTheModel) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(model, {.n_estimators = 1});
  predictor.fit(data.x, data.y, 4);
  const Tensor got = predictor.predict_proba(data.query);
  const std::vector<Tensor> rows = {data.x, data.query};
  const Tensor sizes = Tensor::from<std::int64_t>(std::vector<std::int64_t>{29, 3, 20}, {1, 3});
  const std::vector<Tensor> targets = {data.y.to(DType::f32), zeros({9})};
  const autograd::NoGrad no_grad;
  const Tensor logits = model->logits({concatenate(rows, 0).to(DType::f32).reshape({1, 29, 3}),
                                       concatenate(targets, 0).reshape({1, 29}), sizes});
  const Tensor want = autograd::softmax(logits.slice(1, 20).to(DType::f64)).reshape({9, 4});
  expect_within(got, want, 1e-5, "probabilities");
}

// With one column and an average over all rotations of the classes, renaming classes changes
// nothing.
TEST(Predictor, UndoesTheRotationOfClasses) {
  const Data data = draw_data(1, 3);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 3});
  predictor.fit(data.x, data.y, 3);
  const Tensor first = predictor.predict_proba(data.query);
  const Tensor turned = binary(BinaryOp::remainder, data.y + Scalar(1.0), Scalar(3.0));
  predictor.fit(data.x, turned, 3);
  const auto order = Tensor::from<std::int64_t>(std::vector<std::int64_t>{1, 2, 0}, {3});
  expect_within(index_select(predictor.predict_proba(data.query), 1, order), first, 1e-5, "turned");
  for (std::int64_t row = 0; row < 9; ++row) {
    double sum = 0;
    for (std::int64_t c = 0; c < 3; ++c) sum += first.data_as<double>()[row * 3 + c];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Predictor, ChunksAndCachesDoNotMatter) {
  for (const TabularConfig& config : {small("default"), small("default", true)}) {
    const Data data = draw_data(4, config.classes);
    const auto model = make_model(config);
    TabularPredictor predictor(model, {});
    predictor.fit(data.x, data.y, config.classes);
    const Tensor all = predictor.predict_proba(data.query);
    const std::vector<Tensor> parts = {predictor.predict_proba(data.query.slice(0, 0, 2)),
                                       predictor.predict_proba(data.query.slice(0, 2))};
    expect_within(concatenate(parts, 0), all, 1e-6, "parts");
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100'000}}) {
      TabularPredictor other(model, {.cache_bytes = bytes});
      other.fit(data.x, data.y, config.classes);
      expect_within(other.predict_proba(data.query), all, 1e-6, "cache");
    }
    EXPECT_EQ(predictor.predict_proba(data.query.slice(0, 0, 0)).size(0), 0);
  }
}

TEST(Predictor, UnitsDoNotMatter) {
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  const Tensor first = predictor.predict_proba(data.query);
  const auto changed = [](const Tensor& x) { return x * Scalar(3600e6) + Scalar(1.7e15); };
  predictor.fit(changed(data.x), data.y, 4);
  expect_within(predictor.predict_proba(changed(data.query)), first, 1e-4, "times");
  for (const double unit :
       {0x1p-1000, 0x1p-520, 0x1p520, 0x1p1000}) {  // squares would over- or underflow
    predictor.fit(data.x * Scalar(unit), data.y, 4);
    expect_within(predictor.predict_proba(data.query * Scalar(unit)), first, 0, "powers of two");
  }
}

TEST(Predictor, RegressionKeepsTheUnit) {
  const Data data = draw_data(3, 0);
  TabularPredictor predictor(make_model(small("default", true)), {});
  predictor.fit(data.x, data.y, 0);
  const Tensor first = predictor.predict_mean(data.query);
  predictor.fit(data.x, data.y * Scalar(50.0) + Scalar(1000.0), 0);
  expect_within(predictor.predict_mean(data.query), first * Scalar(50.0) + Scalar(1000.0), 1e-2,
                "unit");
  predictor.fit(data.x, full({20}, 8.25, DType::f64), 0);
  expect_within(predictor.predict_mean(data.query), full({9}, 8.25, DType::f64), 0, "constant");
}

TEST(Predictor, ConstantColumnsAreLeftOut) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  const auto widened = [](const Tensor& x) {
    const std::vector<Tensor> columns = {full({x.size(0), 1}, std::nan(""), DType::f64), x,
                                         full({x.size(0), 1}, 7.3, DType::f64)};
    return concatenate(columns, 1);
  };
  TabularPredictor plain(model, {});
  plain.fit(data.x, data.y, 4);
  EXPECT_TRUE(plain.warnings().empty());
  TabularPredictor predictor(model, {.max_features = 3});
  predictor.fit(widened(data.x), data.y, 4, {"empty", "a", "b", "c", "seven"});
  ASSERT_EQ(predictor.warnings().size(), 1u);
  expect_words(predictor.warnings()[0], "left out: \"empty\"");
  expect_within(predictor.predict_proba(widened(data.query)), plain.predict_proba(data.query), 1e-6,
                "the same");
  // Only constant columns.
  predictor.fit(full({20, 2}, 1.0, DType::f64), data.y, 4);
  EXPECT_EQ(predictor.predict_proba(full({3, 2}, 1.0, DType::f64)).shape(), (Shape{3, 4}));
}

TEST(Predictor, ProgressIsTheFractionOfTheWork) {
  const Data data = draw_data(6, 4, 400);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 3});
  predictor.fit(data.x, data.y, 4);
  const Tensor many = concatenate(std::vector<Tensor>(40, data.query), 0);
  std::vector<double> done;
  const auto note = [&](double fraction) { done.push_back(fraction); };
  const Tensor first = predictor.predict_proba(many, note);
  ASSERT_GT(done.size(), 10u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(done.front(), 0);
  EXPECT_NEAR(done.back(), 1, 1e-9);
  // Contexts are cached: the second call only runs the queries.
  const std::size_t n_first = done.size();
  done.clear();
  expect_same_bytes(predictor.predict_proba(many, note), first, "again");
  EXPECT_LT(done.size(), n_first);
  EXPECT_NEAR(done.back(), 1, 1e-9);
}

TEST(Predictor, StaysUsableAfterAnInterruptedPrediction) {
  const Data data = draw_data(3, 4, 60);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  TabularPredictor other(make_model(small("default")), {});
  other.fit(data.x, data.y, 4);
  const Tensor want = other.predict_proba(data.query);
  for (int stop = 1; stop < 40; stop += 7) {  // in contexts and in queries
    int calls = 0;
    const auto hook = [&](double) {
      if (++calls == stop) throw std::runtime_error("stop");
    };
    try {
      (void)predictor.predict_proba(data.query, hook);
    } catch (const std::runtime_error&) {
      EXPECT_EQ(calls, stop);
    }
  }
  expect_same_bytes(predictor.predict_proba(data.query), want, "after stops");
}

TEST(Predictor, AFitThatFailsChangesNothing) {
  const Data data = draw_data(3, 4, 60);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  const Tensor want = predictor.predict_proba(data.query);
  EXPECT_THROW(predictor.fit(data.x, data.y, 2), Error);
  EXPECT_THROW(predictor.fit(full({4, 200}, 1.0, DType::f64), data.y, 4), Error);
  expect_same_bytes(predictor.predict_proba(data.query), want, "after failures");
}

// Large branches run in pieces; the result does not depend on their number, up to rounding.
TEST(Predictor, PiecesGiveTheSameResult) {
  TabularConfig config = models::TabularConfig::preset("default");
  config.layers = 2;
  config.classes = 4;
  const auto model = make_model(config);
  const Data data = draw_data(12, 4, 1500);
  std::vector<double> done;
  const auto context = [&](const models::ProgressHook& hook) {
    const Tensor x = data.x.to(DType::f32).reshape({1, 1500, 12});
    const Tensor y = data.y.to(DType::f32).reshape({1, 1500});
    const Tensor sizes =
        Tensor::from<std::int64_t>(std::vector<std::int64_t>{1500, 12, 1500}, {1, 3});
    return model->encode_context({x, y, sizes}, hook);
  };
  const auto kept = context([&](double fraction) { done.push_back(fraction); });
  const std::size_t n_branches = 4 + 2;  // of a whole layer, and of the last one
  EXPECT_GT(done.size(), n_branches) << "no branch ran in pieces";
  EXPECT_NEAR(done.back(), 1, 1e-9);
  const autograd::NoGrad no_grad;
  const Tensor query = data.query.to(DType::f32).reshape({1, 9, 12});
  const std::vector<Tensor> rows = {data.x.to(DType::f32), data.query.to(DType::f32)};
  const std::vector<Tensor> targets = {data.y.to(DType::f32), zeros({9})};
  const Tensor sizes =
      Tensor::from<std::int64_t>(std::vector<std::int64_t>{1509, 12, 1500}, {1, 3});
  const Tensor whole = model->logits({concatenate(rows, 0).reshape({1, 1509, 12}),
                                      concatenate(targets, 0).reshape({1, 1509}), sizes});
  expect_within(model->predict_logits(kept, query).to(DType::f64),
                whole.slice(1, 1500).to(DType::f64).contiguous(), 1e-4, "logits");
}

TEST(Predictor, BadArguments) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(model, {.max_features = 2});
  expect_words(failure([&] { predictor.fit(data.x, data.y, 2); }), "integers from 0 to 1");
  expect_words(failure([&] { predictor.fit(data.x.slice(0, 0, 0), data.y.slice(0, 0, 0), 4); }),
               "the table has no rows");
  TabularPredictor fresh(model, {});
  expect_words(failure([&] { fresh.predict_proba(data.x); }), "call fit first");
  fresh.fit(data.x, data.y, 4);
  expect_words(failure([&] { fresh.predict_proba(data.x.slice(1, 1)); }), "but fit had 3");
  EXPECT_THROW(TabularPredictor(model, {.n_estimators = 0}), Error);
}

TEST(Predictor, ManyRowsAndOneClass) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(2, 4, 300);
  TabularPredictor predictor(model, {.max_rows = 50});
  predictor.fit(data.x, data.y, 4);
  ASSERT_EQ(predictor.warnings().size(), 1u);
  expect_words(predictor.warnings()[0],
               "300 rows are more than max_rows = 50: each ensemble member reads another");
  std::set<std::vector<std::int64_t>> samples;
  for (const auto& member : predictor.members()) samples.insert(member.rows);
  EXPECT_EQ(samples.size(), 4u);
  const Tensor first = predictor.predict_proba(data.query);
  TabularPredictor again(model, {.max_rows = 50});
  again.fit(data.x, data.y, 4);
  expect_same_bytes(again.predict_proba(data.query), first, "the same sample");
  predictor.fit(data.x, zeros({300}, DType::f64), 1);
  expect_within(predictor.predict_proba(data.query), ones({9, 1}, DType::f64), 0, "one class");
}

TEST(Predictor, ModelsInFiles) {
  const Scratch scratch;
  for (const TabularConfig& config : small_ones()) {
    const auto model = make_model(config);
    models::save_tabular(scratch / "model.safetensors", *model);
    const auto read = models::load_tabular(scratch / "model.safetensors");
    EXPECT_EQ(read->config().to_json(), config.to_json());
    for (const auto& [name, values] : model->state()) {
      expect_same_bytes(read->state().at(name), values, name);
    }
  }
  save_safetensors(scratch / "other.safetensors", {{"a", zeros({2})}});
  expect_words(failure([&] { models::load_tabular(scratch / "other.safetensors"); }),
               "is not a tabular model");
  EXPECT_THROW(models::load_tabular(scratch / "absent.safetensors"), Error);
}

}  // namespace
}  // namespace causeway
