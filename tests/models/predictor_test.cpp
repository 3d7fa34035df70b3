// Predictions for tables: what is averaged, kept, left out and refused; models in files.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/tabular_file.h"
#include "causeway/tensor/indexing.h"
#include "tests/data/scratch.h"
#include "tests/models/tables.h"

#include <map>

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
  Tensor asked;
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

TEST(Predictor, SamplesOfEveryClassItsShare) {
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 100; ++i) classes.push_back(i % 10 < 7 ? 0 : (i % 10 < 9 ? 1 : 2));
  Generator generator(1);
  const auto half = models::stratified_sample(classes, 50, generator);
  std::map<std::int64_t, int> counts;
  for (const std::int64_t row : half) ++counts[classes[static_cast<std::size_t>(row)]];
  EXPECT_EQ(counts, (std::map<std::int64_t, int>{{0, 35}, {1, 10}, {2, 5}}));
  EXPECT_TRUE(std::is_sorted(half.begin(), half.end()));
  EXPECT_EQ(std::adjacent_find(half.begin(), half.end()), half.end());
  EXPECT_NE(models::stratified_sample(classes, 50, generator), half);  // another draw
  const auto three = models::stratified_sample(classes, 3, generator);
  counts.clear();
  for (const std::int64_t row : three) ++counts[classes[static_cast<std::size_t>(row)]];
  EXPECT_EQ(counts, (std::map<std::int64_t, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(models::stratified_sample(classes, 1000, generator).size(), 100u);
}

TEST(Predictor, OneEstimatorIsTheModel) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(model, {.n_estimators = 1});
  predictor.fit(data.x, data.y, 4);
  const Tensor got = predictor.probabilities(data.asked);
  const std::vector<Tensor> rows = {data.x, data.asked};
  const Tensor sizes = Tensor::from<std::int64_t>(std::vector<std::int64_t>{29, 3, 20}, {1, 3});
  const std::vector<Tensor> targets = {data.y.to(DType::f32), zeros({9})};
  const autograd::NoGrad no_grad;
  const Tensor logits = model->logits({concatenate(rows, 0).to(DType::f32).reshape({1, 29, 3}),
                                       concatenate(targets, 0).reshape({1, 29}), sizes});
  const Tensor want = autograd::softmax(logits.slice(1, 20).to(DType::f64)).reshape({9, 4});
  expect_within(got, want, 1e-5, "probabilities");
}

// With every turn of the classes averaged, and a single column, no class has a name.
TEST(Predictor, TurnsClassesThereAndBack) {
  const Data data = draw_data(1, 3);
  TabularPredictor predictor(make_model(small("default")), {.n_estimators = 3});
  predictor.fit(data.x, data.y, 3);
  const Tensor first = predictor.probabilities(data.asked);
  const Tensor turned = binary(BinaryOp::remainder, data.y + Scalar(1.0), Scalar(3.0));
  predictor.fit(data.x, turned, 3);
  const auto order = Tensor::from<std::int64_t>(std::vector<std::int64_t>{1, 2, 0}, {3});
  expect_within(index_select(predictor.probabilities(data.asked), 1, order), first, 1e-5, "turned");
  for (std::int64_t row = 0; row < 9; ++row) {
    double sum = 0;
    for (std::int64_t c = 0; c < 3; ++c) sum += first.data_as<double>()[row * 3 + c];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Predictor, CutsAndCachesDoNotMatter) {
  for (const TabularConfig& config : {small("default"), small("default", true)}) {
    const Data data = draw_data(4, config.classes);
    const auto model = make_model(config);
    TabularPredictor predictor(model, {});
    predictor.fit(data.x, data.y, config.classes);
    const Tensor all = predictor.probabilities(data.asked);
    const std::vector<Tensor> parts = {predictor.probabilities(data.asked.slice(0, 0, 2)),
                                       predictor.probabilities(data.asked.slice(0, 2))};
    expect_within(concatenate(parts, 0), all, 1e-6, "parts");
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100'000}}) {
      TabularPredictor other(model, {.cache_bytes = bytes});
      other.fit(data.x, data.y, config.classes);
      expect_within(other.probabilities(data.asked), all, 1e-6, "cache");
    }
    EXPECT_EQ(predictor.probabilities(data.asked.slice(0, 0, 0)).size(0), 0);
  }
}

TEST(Predictor, UnitsDoNotMatter) {
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(make_model(small("default")), {});
  predictor.fit(data.x, data.y, 4);
  const Tensor first = predictor.probabilities(data.asked);
  const auto changed = [](const Tensor& x) { return x * Scalar(3600e6) + Scalar(1.7e15); };
  predictor.fit(changed(data.x), data.y, 4);
  expect_within(predictor.probabilities(changed(data.asked)), first, 1e-4, "times");
  for (const double unit : {0x1p-1000, 0x1p-520, 0x1p520, 0x1p1000}) {  // squares would not do
    predictor.fit(data.x * Scalar(unit), data.y, 4);
    expect_within(predictor.probabilities(data.asked * Scalar(unit)), first, 0, "powers of two");
  }
}

TEST(Predictor, NumbersKeepTheirUnit) {
  const Data data = draw_data(3, 0);
  TabularPredictor predictor(make_model(small("default", true)), {});
  predictor.fit(data.x, data.y, 0);
  const Tensor first = predictor.numbers(data.asked);
  predictor.fit(data.x, data.y * Scalar(50.0) + Scalar(1000.0), 0);
  expect_within(predictor.numbers(data.asked), first * Scalar(50.0) + Scalar(1000.0), 1e-2, "unit");
  predictor.fit(data.x, full({20}, 8.25, DType::f64), 0);
  expect_within(predictor.numbers(data.asked), full({9}, 8.25, DType::f64), 0, "constant");
}

TEST(Predictor, ColumnsThatSayNothingAreLeftOut) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  const auto widened = [](const Tensor& x) {
    const std::vector<Tensor> columns = {full({x.size(0), 1}, std::nan(""), DType::f64), x,
                                         full({x.size(0), 1}, 7.3, DType::f64)};
    return concatenate(columns, 1);
  };
  TabularPredictor plain(model, {});
  plain.fit(data.x, data.y, 4);
  EXPECT_TRUE(plain.notes().empty());
  TabularPredictor predictor(model, {.max_features = 3});
  predictor.fit(widened(data.x), data.y, 4, {"empty", "a", "b", "c", "seven"});
  ASSERT_EQ(predictor.notes().size(), 1u);
  expect_words(predictor.notes()[0], "left out: \"empty\"");
  expect_within(predictor.probabilities(widened(data.asked)), plain.probabilities(data.asked), 1e-6,
                "the same");
  // Nothing but such columns is a table still.
  predictor.fit(full({20, 2}, 1.0, DType::f64), data.y, 4);
  EXPECT_EQ(predictor.probabilities(full({3, 2}, 1.0, DType::f64)).shape(), (Shape{3, 4}));
}

TEST(Predictor, RefusesInWords) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(3, 4);
  TabularPredictor predictor(model, {.max_features = 2});
  expect_words(failure([&] { predictor.fit(data.x, data.y, 4); }), "3 features are more than 2");
  expect_words(failure([&] { predictor.fit(data.x, data.y, 5); }),
               "5 classes; the model tells at most 4");
  expect_words(failure([&] { predictor.fit(data.x, data.y, 2); }), "whole numbers from 0 to 1");
  expect_words(failure([&] { predictor.fit(data.x.slice(0, 0, 0), data.y.slice(0, 0, 0), 4); }),
               "no rows");
  TabularPredictor fresh(model, {});
  expect_words(failure([&] { fresh.probabilities(data.x); }), "call fit first");
  fresh.fit(data.x, data.y, 4);
  expect_words(failure([&] { fresh.probabilities(data.x.slice(1, 1)); }), "fit had 3");
  EXPECT_THROW(TabularPredictor(model, {.n_estimators = 0}), Error);
}

TEST(Predictor, ManyRowsAndOneClass) {
  const auto model = make_model(small("default"));
  const Data data = draw_data(2, 4, 300);
  TabularPredictor predictor(model, {.max_rows = 50});
  predictor.fit(data.x, data.y, 4);
  ASSERT_EQ(predictor.notes().size(), 1u);
  expect_words(predictor.notes()[0], "300 rows are more than 50: a stratified sample");
  const Tensor first = predictor.probabilities(data.asked);
  TabularPredictor again(model, {.max_rows = 50});
  again.fit(data.x, data.y, 4);
  expect_same_bytes(again.probabilities(data.asked), first, "the same sample");
  predictor.fit(data.x, zeros({300}, DType::f64), 1);
  expect_within(predictor.probabilities(data.asked), ones({9, 1}, DType::f64), 0, "one class");
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
               "is no tabular model");
  EXPECT_THROW(models::load_tabular(scratch / "absent.safetensors"), Error);
}

}  // namespace
}  // namespace causeway
