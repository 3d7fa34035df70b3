// Fitted estimators in files: the same predictions, and errors for other files.
#include "causeway/models/estimator_file.h"

#include "causeway/data/safetensors.h"
#include "causeway/models/tabular_file.h"
#include "tests/data/scratch.h"
#include "tests/models/tables.h"
#include "tests/tables/columns.h"

#include <gtest/gtest.h>

namespace causeway::models {
namespace {

using data_test::failure;
using data_test::says;
using data_test::Scratch;
using tables::Table;

std::shared_ptr<TabularTransformer> make_model(bool regression) {
  Generator generator(5);
  return std::make_shared<TabularTransformer>(small("default", regression),
                                              nn::Placement{DType::f32, Device::cpu(), &generator});
}

Table draw_table() {
  std::vector<double> sizes;
  std::vector<std::optional<std::string>> cities;
  std::vector<double> y;
  for (int i = 0; i < 40; ++i) {
    sizes.push_back(i % 7 == 0 ? std::nan("") : i * 0.5);
    cities.push_back(i % 3 == 0 ? "Kiel" : (i % 3 == 1 ? "Ulm" : "Bonn"));
    y.push_back(i % 2);
  }
  return tables::table_of(
      {tables::numbers("size", sizes), tables::text("city", cities), tables::numbers("y", y)});
}

TEST(EstimatorFile, AClassifierPredictsTheSame) {
  const Scratch scratch;
  EstimatorOptions options;
  options.max_rows = 25;
  options.random_state = 7;
  options.transforms = {Transform::quantile, Transform::none};
  options.average = Average::logits;
  options.temperature = 0.7;
  options.precision = Precision::f32;
  options.class_weight = {{"0", 3.0}};
  TabularClassifier classifier(make_model(false), options);
  std::vector<double> weights(40, 1);
  weights[5] = 9;
  const Table table = draw_table();
  classifier.fit(table, "y", weights);
  classifier.save(scratch / "fitted.safetensors");
  TabularClassifier loaded = TabularClassifier::load(scratch / "fitted.safetensors", "cpu");
  EXPECT_EQ(loaded.classes(), classifier.classes());
  EXPECT_EQ(loaded.feature_names(), classifier.feature_names());
  expect_same_bytes(loaded.predict_proba(table), classifier.predict_proba(table), "loaded");
  const EstimatorFile file = read_estimator_file(scratch / "fitted.safetensors");
  EXPECT_EQ(file.label_type, "number");
  EXPECT_EQ(file.options.precision, Precision::f32);
  EXPECT_EQ(file.options.class_weight, options.class_weight);
  EXPECT_TRUE(says(failure([&] { TabularRegressor::load(scratch / "fitted.safetensors", "cpu"); }),
                   "invalid_argument: [fit]", "a regressor needs one that predicts numbers"));
}

TEST(EstimatorFile, ARegressorPredictsTheSame) {
  const Scratch scratch;
  TabularRegressor regressor(make_model(true), {});
  const Table table = draw_table();
  regressor.fit(table, "size");
  regressor.save(scratch / "fitted.safetensors");
  TabularRegressor loaded = TabularRegressor::load(scratch / "fitted.safetensors", "cpu");
  expect_same_bytes(loaded.predict(table), regressor.predict(table), "loaded");
  EXPECT_EQ(read_estimator_file(scratch / "fitted.safetensors").state.predictor.member_weights,
            regressor.state().predictor.member_weights);
  EXPECT_EQ(regressor.state().predictor.member_weights.size(), 4u);
  EXPECT_EQ(loaded.predict_distribution(table).edges, regressor.predict_distribution(table).edges);
}

// Files from before there were target transforms.
TEST(EstimatorFile, ARegressorWithoutTargetTransforms) {
  const Scratch scratch;
  const Table table = draw_table();
  EstimatorOptions options;
  options.target_transforms = {TargetTransform::none};
  TabularRegressor regressor(make_model(true), options);
  regressor.fit(table, "size");
  const auto path = scratch / "fitted.safetensors";
  regressor.save(path);
  SafetensorsFile file = load_safetensors(path);
  file.metadata.erase("sha256");
  const std::string given = "\"target_transforms\":[\"none\"],";
  std::string& config = file.metadata.at("config");
  ASSERT_NE(config.find(given), std::string::npos);
  config.erase(config.find(given), given.size());
  save_safetensors(path, file.tensors, file.metadata);
  TabularRegressor loaded = TabularRegressor::load(path, "cpu");
  expect_same_bytes(loaded.predict(table), regressor.predict(table), "loaded");
}

// Categories are not in the state of the predictor: the encoder has them.
TEST(EstimatorFile, ComponentsPredictTheSame) {
  const Scratch scratch;
  const Table table = draw_table();
  TabularClassifier classifier(make_model(false), {});
  classifier.fit(table, "y");
  const Tensor want = classifier.predict_proba(table);
  classifier.save(scratch / "fitted.safetensors");
  TabularClassifier loaded = TabularClassifier::load(scratch / "fitted.safetensors", "cpu");
  expect_same_bytes(loaded.predict_proba(table), want, "loaded");
  // Transforms in a file are kept, whatever the default.
  EstimatorOptions plain;
  plain.transforms = {Transform::none};
  TabularClassifier before(make_model(false), plain);
  before.fit(table, "y");
  before.save(scratch / "plain.safetensors");
  EXPECT_EQ(read_estimator_file(scratch / "plain.safetensors").options.transforms,
            plain.transforms);
  TabularClassifier again = TabularClassifier::load(scratch / "plain.safetensors", "cpu");
  expect_same_bytes(again.predict_proba(table), before.predict_proba(table), "plain columns");
  EXPECT_NE(again.predict_proba(table).to_vector<double>(), want.to_vector<double>());
}

TEST(EstimatorFile, OtherFilesAreRefused) {
  const Scratch scratch;
  save_tabular(scratch / "model.safetensors", *make_model(false));
  EXPECT_TRUE(says(failure([&] { TabularClassifier::load(scratch / "model.safetensors", "cpu"); }),
                   "format: [load_estimator]", "is not a fitted estimator"));
  TabularClassifier classifier(make_model(false), {});
  classifier.fit(draw_table(), "y");
  const auto path = scratch / "fitted.safetensors";
  classifier.save(path);
  SafetensorsFile file = load_safetensors(path);
  file.metadata.erase("sha256");
  for (const char* weights :
       {"[2.0,-1.0,0.0,0.0]", "[0.5,0.0,0.0,0.0]", "[1.0]", "[0.2,0.2,0.2,0.2,0.2]"}) {
    auto metadata = file.metadata;
    const std::string equal = "\"member_weights\":[]";
    std::string& config = metadata.at("config");
    ASSERT_NE(config.find(equal), std::string::npos);
    config.replace(config.find(equal) + equal.size() - 2, 2, weights);
    save_safetensors(path, file.tensors, metadata);
    EXPECT_TRUE(says(failure([&] { TabularClassifier::load(path, "cpu"); }),
                     "format: [load_estimator]", "context rows are damaged"))
        << weights;
  }
  file.tensors.at("context.rows").data_as<std::int64_t>()[0] = 1'000'000;
  save_safetensors(path, file.tensors, file.metadata);
  EXPECT_TRUE(says(failure([&] { TabularClassifier::load(path, "cpu"); }),
                   "format: [load_estimator]", "context rows are damaged"));
  file.tensors.erase("context.y");
  save_safetensors(path, file.tensors, file.metadata);
  EXPECT_TRUE(says(failure([&] { TabularClassifier::load(path, "cpu"); }),
                   "format: [load_estimator]", "\"context.y\""));
  file.metadata.at("config") = "{}";
  save_safetensors(path, file.tensors, file.metadata);
  EXPECT_TRUE(says(failure([&] { TabularClassifier::load(path, "cpu"); }),
                   "format: [load_estimator]", "settings are damaged"));
  EXPECT_THROW(load_tabular(path), Error);
}

TEST(EstimatorFile, AnotherModelKeepsTheContext) {
  TabularClassifier classifier(make_model(false), {});
  const Table table = draw_table();
  classifier.fit(table, "y");
  const Tensor first = classifier.predict_proba(table);
  Generator generator(99);
  const auto other = std::make_shared<TabularTransformer>(
      small("default"), nn::Placement{DType::f32, Device::cpu(), &generator});
  classifier.set_model(other);
  TabularClassifier fresh(other, {});
  fresh.fit(table, "y");
  expect_same_bytes(classifier.predict_proba(table), fresh.predict_proba(table), "other model");
  EXPECT_THROW(classifier.set_model(make_model(true)), Error);
  expect_same_bytes(classifier.predict_proba(table), fresh.predict_proba(table), "unchanged");
}

}  // namespace
}  // namespace causeway::models
