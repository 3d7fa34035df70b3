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
#include "causeway/tables/target.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace causeway::models {

struct EstimatorOptions {
  std::filesystem::path model;      // a file of save_tabular; empty: the packaged weights
  std::int64_t n_estimators = 4;    // ensemble members
  std::int64_t max_features = 100;  // of more, each member reads a subset
  std::int64_t max_rows = 10'000;   // context rows; of more, each member reads a sample
  std::uint64_t random_state = 0;
  std::string device = "auto";                                        // "cpu", "cuda", "cuda:1"
  std::vector<Transform> transforms = PredictorOptions().transforms;  // members take turns
  // Of the target of a regression; members take turns.
  std::vector<TargetTransform> target_transforms = PredictorOptions().target_transforms;
  Average average = PredictorOptions().average;
  double temperature = PredictorOptions().temperature;  // or kCalibrated
  MemberWeights member_weights = PredictorOptions().member_weights;
  Precision precision = PredictorOptions().precision;  // of products on a CPU
  // Of a classifier: class probabilities are multiplied by these weights, by label, and normalised;
  // labels that are not named have weight 1. Or by weights inverse to the classes' frequencies.
  std::map<std::string, double> class_weight;
  bool balanced = false;

  PredictorOptions predictor() const;
};

// The weights of a target's classes that the options ask for; none if they ask for none. Throws
// invalid_argument for a label that the target lacks.
std::vector<double> class_weights_of(const EstimatorOptions& options, const tables::Target& target);

// What the classifier and the regressor share. A fit or a prediction that throws leaves the
// estimator as it was.
class TabularEstimator {
 public:
  // Fits to the given rows of `x` with an encoded target: y (rows,) f64, classes 0 to n_classes - 1
  // or numbers, and weights of those rows. Other rows and the column `target` are not used.
  void fit_encoded(const tables::Table& x, const std::vector<std::int64_t>& rows, const Tensor& y,
                   std::int64_t n_classes, const std::string& target = {},
                   const FitWeights& weights = {});
  // The fitted state, for pickling.
  struct State {
    std::string encoder;  // JSON
    TabularPredictor::State predictor;
  };
  State state() const;
  void restore(const State& state);

  // Warnings about the data of the last fit or prediction.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Called with the fraction of a prediction's work that is done.
  void on_progress(ProgressHook hook) { progress_ = std::move(hook); }
  // The columns seen by fit, without the target.
  std::vector<std::string> feature_names() const;
  // The model's last hidden vector of each row, (rows, width) f64, mean over members.
  Tensor embed(const tables::Table& table);
  // How much the predictions for these rows change if a column is missing: the mean
  // Kullback-Leibler divergence, (columns,) f64, in the order of feature_names().
  Tensor importance(const tables::Table& table);
  // Loads the model if it is not loaded yet.
  TabularTransformer& model() { return *shared_model(); }
  const std::shared_ptr<TabularTransformer>& shared_model();
  // Replaces the model by another one for the same task, such as a fine-tuned one.
  void set_model(std::shared_ptr<TabularTransformer> model);

 protected:
  TabularEstimator(EstimatorOptions options, bool regression);
  TabularEstimator(std::shared_ptr<TabularTransformer> model, EstimatorOptions options,
                   bool regression);

  Tensor encode(const tables::Table& table);
  TabularPredictor& predictor();
  // The encoded columns of each column of the table.
  std::vector<std::vector<std::int64_t>> column_groups() const;

  const EstimatorOptions& options() const { return options_; }

  ProgressHook progress_;
  std::vector<std::string> warnings_;

 private:
  struct Fitted {
    tables::TableEncoder encoder;
    TabularPredictor predictor;
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

  // The rows of the table that have a target are the context rows. sample_weight has a weight for
  // each row of the table, or none: see FitWeights.
  void fit(const tables::Table& table, const std::string& target,
           const std::vector<double>& sample_weight = {});
  // (rows, n_classes) f64, in the order of classes(). Columns are found by name; others, the target
  // among them, are ignored.
  Tensor predict_proba(const tables::Table& table);
  // The most probable class of each row.
  std::vector<std::string> predict(const tables::Table& table);
  // One safetensors file with the model, the context rows and the settings; no other file is needed
  // to load it.
  void save(const std::filesystem::path& path);
  static TabularClassifier load(const std::filesystem::path& path,
                                const std::string& device = "auto");
  // Labels of the classes, sorted by value where all are numbers, else by bytes.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  std::vector<std::string> classes_;
  std::string label_type_ = "text";
};

// Predicts numbers.
class TabularRegressor : public TabularEstimator {
 public:
  explicit TabularRegressor(EstimatorOptions options = {})
      : TabularEstimator(std::move(options), true) {}
  explicit TabularRegressor(std::shared_ptr<TabularTransformer> model,
                            EstimatorOptions options = {})
      : TabularEstimator(std::move(model), std::move(options), true) {}

  void fit(const tables::Table& table, const std::string& target,
           const std::vector<double>& sample_weight = {});
  // The mean of each row's predicted distribution, (rows,) f64.
  Tensor predict(const tables::Table& table);
  // The distribution, with its quantiles, intervals and mode.
  TargetDistribution predict_distribution(const tables::Table& table);
  void save(const std::filesystem::path& path);
  static TabularRegressor load(const std::filesystem::path& path,
                               const std::string& device = "auto");
};

}  // namespace causeway::models
