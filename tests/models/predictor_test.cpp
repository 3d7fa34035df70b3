// Predictions for numeric tables: the ensemble, contexts, progress, errors; models in files.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/kernels/matmul/bf16_product_cpu.h"
#include "causeway/models/tabular_file.h"
#include "causeway/runtime/threads.h"
#include "causeway/tensor/indexing.h"
#include "tests/data/scratch.h"
#include "tests/models/predictor_data.h"

#include <numeric>
#include <set>

namespace causeway {
namespace {

using data_test::failure;
using data_test::Scratch;
using models::TabularConfig;
using models::TabularPredictor;
using models::TabularTransformer;

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

TEST(Predictor, OneEstimatorIsTheModel) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(
      model, {.n_estimators = 1, .temperature = 1, .precision = models::Precision::f32});
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
  TabularPredictor predictor(make_model(small("default")),
                             {.n_estimators = 3, .transforms = {models::Transform::none}});
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

TEST(Predictor, RoundsProductsUnlessToldNotTo) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(4, 4);
  const auto predict = [&](models::Precision precision) {
    TabularPredictor predictor(model, {.precision = precision});
    predictor.fit(data.x, data.y, 4);
    return predictor.predict_proba(data.query);
  };
  const Tensor precise = predict(models::Precision::f32);
  const Tensor rounded = predict(models::Precision::automatic);
  expect_within(rounded, precise, 0.01, "probabilities");
  if (kernels::cpu::bf16_paths().empty()) {
    return expect_same_bytes(rounded, precise, "without bf16 instructions");
  }
  EXPECT_NE(rounded.to_vector<double>(), precise.to_vector<double>());
  // Neither threads nor the number of query rows change a bit.
  const int before = thread_count();
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    expect_same_bytes(predict(models::Precision::automatic), rounded,
                      fmt::format("{} threads", threads));
  }
  set_thread_count(before);
  TabularPredictor predictor(model, {});
  predictor.fit(data.x, data.y, 4);
  for (std::int64_t row = 0; row < 9; ++row) {
    expect_same_bytes(predictor.predict_proba(data.query.slice(0, row, row + 1)),
                      rounded.slice(0, row, row + 1).contiguous(), fmt::format("row {}", row));
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

// Squares and differences of such targets would be infinite.
TEST(Predictor, GreatestTargets) {
  const Data data = draw_data(3, 0);
  TabularPredictor predictor(make_model(small("default", true)), {});
  predictor.fit(data.x, data.y * Scalar(1e299), 0);
  for (const double mean : predictor.predict_mean(data.query).to_vector<double>()) {
    EXPECT_TRUE(std::isfinite(mean));
  }
  data.y.data_as<double>()[2] = -1e308;
  expect_words(failure([&] { predictor.fit(data.x, data.y, 0); }),
               "target, row 2 (from 0): -1e+308; expected at most 1e+300");
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
  predictor.fit(widened(data.x), data.y, 4, {{"empty", "a", "b", "c", "seven"}, {}});
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
  const Tensor many = Generator(3).normal({360, 6}, 0, 1, DType::f64);
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

TEST(Predictor, RowsThatReadTheSameRunOnce) {
  const Data data = draw_data(6, 4);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 3, .max_features = 4});
  predictor.fit(data.x, data.y, 4);
  const auto count_calls = [&](const Tensor& x) {
    int n_calls = 0;
    const Tensor made = predictor.predict_proba(x, [&](double) { ++n_calls; });
    const Tensor want = predictor.predict_proba(x.slice(0, 0, 1)).expand(made.shape());
    expect_same_bytes(made, want.contiguous(), "copies");
    return n_calls;
  };
  const Tensor one = data.query.slice(0, 0, 1);
  count_calls(one);  // caches the contexts
  EXPECT_EQ(count_calls(one.expand({9000, 6}).contiguous()), count_calls(one));
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
