// Predictions for typed tables, with the names and defaults of the Python estimators:
//
//   const auto train = tables::read_csv("train.csv");
//   models::TabularClassifier classifier;
//   classifier.fit(train, "species");
//   const Tensor probabilities = classifier.predict_proba(tables::read_csv("test.csv"));
#pragma once

#include "causeway/models/predictor.h"
#include "causeway/tables/encoder.h"
#include "causeway/tables/table.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace causeway::models {

struct EstimatorOptions {
  std::filesystem::path model;    // a file of save_tabular; empty: the packaged weights
  std::int64_t n_estimators = 4;  // ensemble members
  std::int64_t max_features = 100;
  std::int64_t max_rows = 10'000;  // context rows; of more, a sample is kept
  std::uint64_t random_state = 0;
  std::string device = "auto";  // "cpu", "cuda", "cuda:1"
};

// What the classifier and the regressor share. A fit or a prediction that throws leaves the
// estimator as it was.
class TabularEstimator {
 public:
  // Fits to the given rows of `x` with an encoded target: y (rows,) f64, classes 0 to n_classes - 1
  // or numbers. Other rows and the column `target` are not used.
  void fit_encoded(const tables::Table& x, const std::vector<std::int64_t>& rows, const Tensor& y,
                   std::int64_t n_classes, const std::string& target = {});
  // The fitted state, for pickling.
  struct State {
    std::string encoder;  // JSON
    Tensor x;             // the context rows, encoded
    Tensor y;
    std::int64_t n_classes = 0;
  };
  State state() const;
  void restore(const State& state);

  // Warnings about the data of the last fit or prediction.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Called with the fraction of a prediction's work that is done.
  void on_progress(ProgressHook hook) { progress_ = std::move(hook); }
  // The columns seen by fit, without the target.
  std::vector<std::string> feature_names() const;
  // Loads the model if it is not loaded yet.
  TabularTransformer& model();

 protected:
  TabularEstimator(EstimatorOptions options, bool regression);
  TabularEstimator(std::shared_ptr<TabularTransformer> model, EstimatorOptions options,
                   bool regression);

  Tensor encode(const tables::Table& table);
  TabularPredictor& predictor();

  ProgressHook progress_;
  std::vector<std::string> warnings_;

 private:
  struct Fitted {
    tables::TableEncoder encoder;
    TabularPredictor predictor;
    std::int64_t n_classes = 0;
  };
  TabularPredictor new_predictor();

  EstimatorOptions options_;
  bool regression_;
  std::shared_ptr<TabularTransformer> model_;
  std::optional<Fitted> fitted_;
};

// Predicts classes.
class TabularClassifier : public TabularEstimator {
 public:
  explicit TabularClassifier(EstimatorOptions options = {})
      : TabularEstimator(std::move(options), false) {}
  explicit TabularClassifier(std::shared_ptr<TabularTransformer> model,
                             EstimatorOptions options = {})
      : TabularEstimator(std::move(model), std::move(options), false) {}

  // The rows of the table that have a target are the context rows.
  void fit(const tables::Table& table, const std::string& target);
  // (rows, n_classes) f64, in the order of classes(). Columns are found by name; others, the target
  // among them, are ignored.
  Tensor predict_proba(const tables::Table& table);
  // The most probable class of each row.
  std::vector<std::string> predict(const tables::Table& table);
  // Labels of the classes, sorted by value where all are numbers, else by bytes.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  std::vector<std::string> classes_;
};

// Predicts numbers.
class TabularRegressor : public TabularEstimator {
 public:
  explicit TabularRegressor(EstimatorOptions options = {})
      : TabularEstimator(std::move(options), true) {}
  explicit TabularRegressor(std::shared_ptr<TabularTransformer> model,
                            EstimatorOptions options = {})
      : TabularEstimator(std::move(model), std::move(options), true) {}

  void fit(const tables::Table& table, const std::string& target);
  // The mean of each row's predicted distribution, (rows,) f64.
  Tensor predict(const tables::Table& table);
};

}  // namespace causeway::models
