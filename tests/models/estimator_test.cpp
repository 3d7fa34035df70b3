// Estimators for typed tables: fit, predict, warnings, state, and failures that change nothing.
#include "causeway/models/estimator.h"

#include "causeway/models/tabular_file.h"
#include "causeway/tables/csv_table.h"
#include "causeway/tables/weights.h"
#include "tests/data/scratch.h"
#include "tests/models/tables.h"
#include "tests/tables/columns.h"

#include <cstdlib>

namespace causeway::models {
namespace {

using data_test::failure;
using data_test::says;
using data_test::Scratch;
using tables::Table;

// A file with a small model that predicts classes, or numbers.
std::filesystem::path save_model(const Scratch& scratch, bool regression) {
  Generator generator(5);
  const TabularTransformer model(small("default", regression),
                                 nn::Placement{DType::f32, Device::cpu(), &generator});
  const auto path =
      scratch / (regression ? "tabular_regression.safetensors" : "tabular.safetensors");
  save_tabular(path, model);
  return path;
}

EstimatorOptions options(const std::filesystem::path& model) {
  EstimatorOptions made;
  made.model = model;
  made.device = "cpu";
  return made;
}

constexpr const char* kTrain =
    "size,city,y\n1.5,Bonn,yes\n2,Kiel,no\nNA,Bonn,no\n0.5,Ulm,yes\n7,Kiel,\n3,Ulm,yes\n";
constexpr const char* kTest = "city,more,size\nKiel,1,2.5\nRome,2,0\n";

TEST(Estimator, ClassifiesACsvFile) {
  const Scratch scratch;
  data_test::put(scratch / "train.csv", kTrain);
  data_test::put(scratch / "test.csv", kTest);
  TabularClassifier classifier(options(save_model(scratch, false)));
  classifier.fit(tables::read_csv(scratch / "train.csv"), "y");
  EXPECT_EQ(classifier.classes(), (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(classifier.feature_names(), (std::vector<std::string>{"size", "city"}));
  ASSERT_EQ(classifier.warnings().size(), 1u);
  EXPECT_NE(classifier.warnings()[0].find("left out: 1"), std::string::npos);
  const Table test = tables::read_csv(scratch / "test.csv");
  double last = 0;
  classifier.on_progress([&](double done) { last = done; });
  const Tensor shares = classifier.predict_proba(test);
  EXPECT_NEAR(last, 1, 1e-9);
  EXPECT_EQ(shares.shape(), (Shape{2, 2}));
  ASSERT_EQ(classifier.warnings().size(), 1u);
  EXPECT_NE(classifier.warnings()[0].find("\"Rome\""), std::string::npos);
  const auto labels = classifier.predict(test);
  for (std::size_t row = 0; row < 2; ++row) {
    const double* of = shares.data_as<double>() + 2 * row;
    EXPECT_NEAR(of[0] + of[1], 1, 1e-12);
    EXPECT_EQ(labels[row], of[0] >= of[1] ? "no" : "yes");
  }
}

TEST(Estimator, PredictsNumbers) {
  const Scratch scratch;
  const Table table = tables::table_of(
      {tables::numbers("x", {1, 2, 3, 4}), tables::numbers("y", {10, 20.5, 30, 40})});
  TabularRegressor regressor(options(save_model(scratch, true)));
  regressor.fit(table, "y");
  EXPECT_EQ(regressor.predict(table).shape(), Shape{4});
  TabularClassifier classifier(options(scratch / "tabular_regression.safetensors"));
  EXPECT_TRUE(says(failure([&] { classifier.fit(table, "y"); }),
                   "invalid_argument: [fit] the model predicts numbers; a classifier needs"));
}

TEST(Estimator, AFitThatFailsChangesNothing) {
  const Scratch scratch;
  TabularClassifier classifier(options(save_model(scratch, false)));
  const Table good =
      tables::table_of({tables::numbers("x", {1, 2, 3}), tables::text("y", {"a", "b", "a"})});
  classifier.fit(good, "y");
  const Tensor want = classifier.predict_proba(good);
  const Table infinite =
      tables::table_of({tables::numbers("x", {1, INFINITY}), tables::text("y", {"c", "d"})});
  EXPECT_TRUE(says(failure([&] { classifier.fit(infinite, "y"); }),
                   "invalid_argument: [fit] column \"x\", row 1 (from 0): infinity"));
  EXPECT_THROW(classifier.fit(good, "z"), Error);
  EXPECT_EQ(classifier.classes(), (std::vector<std::string>{"a", "b"}));
  expect_same_bytes(classifier.predict_proba(good), want, "after failures");
}

TEST(Estimator, StateIsRestored) {
  const Scratch scratch;
  const EstimatorOptions chosen = options(save_model(scratch, false));
  const Table table = tables::table_of(
      {tables::text("x", {"u", "v", {}, "w"}), tables::text("y", {"a", "b", "a", "b"})});
  TabularClassifier classifier(chosen);
  classifier.fit(table, "y");
  TabularClassifier other(chosen);
  EXPECT_TRUE(says(failure([&] { (void)other.predict_proba(table); }),
                   "invalid_argument: [predict] call fit first"));
  other.restore(classifier.state());
  expect_same_bytes(other.predict_proba(table), classifier.predict_proba(table), "restored");
}

TEST(Estimator, FindsPackagedWeights) {
  const Scratch scratch;
  save_model(scratch, false);
  ASSERT_EQ(setenv("CAUSEWAY_WEIGHTS", scratch.folder().c_str(), 1), 0);
  EXPECT_EQ(tables::find_weights(false).found, scratch / "tabular.safetensors");
  EXPECT_FALSE(tables::find_weights(true).found.has_value());
  const Table table =
      tables::table_of({tables::numbers("x", {1, 2, 3}), tables::numbers("y", {1.5, 2, 3})});
  EXPECT_TRUE(
      says(failure([&] { TabularRegressor().fit(table, "y"); }),
           "invalid_argument: [weights] no weights found: no tabular_regression.safetensors",
           "pass the file of a model"));
  TabularClassifier classifier;
  classifier.fit(table, "y");
  EXPECT_EQ(classifier.predict_proba(table).shape(), (Shape{3, 3}));
  unsetenv("CAUSEWAY_WEIGHTS");
}

}  // namespace
}  // namespace causeway::models
