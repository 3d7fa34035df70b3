#include "causeway/models/estimator.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/models/tabular_file.h"
#include "causeway/tables/weights.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// The weights of some rows.
std::vector<double> weights_of(const std::vector<double>& sample_weight, const tables::Table& table,
                               const std::vector<std::int64_t>& rows) {
  if (sample_weight.empty()) return {};
  if (std::ssize(sample_weight) != table.n_rows()) {
    fail(ErrorKind::shape_mismatch, "fit",
         fmt::format("{} sample weights for {} rows", sample_weight.size(), table.n_rows()));
  }
  std::vector<double> made;
  for (const std::int64_t row : rows) made.push_back(sample_weight[static_cast<std::size_t>(row)]);
  return made;
}

}  // namespace

std::vector<double> class_weights_of(const EstimatorOptions& options, const tables::Target& read) {
  if (options.balanced) return balanced_class_weight(read.y, read.n_classes());
  if (options.class_weight.empty()) return {};
  std::vector<double> made(read.classes.size(), 1);
  for (const auto& [label, weight] : options.class_weight) {
    const auto found = std::find(read.classes.begin(), read.classes.end(), label);
    if (found == read.classes.end()) {
      fail(ErrorKind::invalid_argument, "fit",
           fmt::format("class_weight has a class {} that the target lacks", shown(label)));
    }
    made[static_cast<std::size_t>(found - read.classes.begin())] = weight;
  }
  return made;
}

PredictorOptions EstimatorOptions::predictor() const {
  PredictorOptions made;
  made.n_estimators = n_estimators;
  made.max_features = max_features;
  made.max_rows = max_rows;
  made.seed = random_state;
  made.transforms = transforms;
  made.target_transforms = target_transforms;
  made.average = average;
  made.temperature = temperature;
  made.member_weights = member_weights;
  made.precision = precision;
  return made;
}

TabularEstimator::TabularEstimator(EstimatorOptions options, bool regression)
    : options_(std::move(options)), regression_(regression) {}

TabularEstimator::TabularEstimator(std::shared_ptr<TabularTransformer> model,
                                   EstimatorOptions options, bool regression)
    : options_(std::move(options)), regression_(regression), model_(std::move(model)) {}

const std::shared_ptr<TabularTransformer>& TabularEstimator::shared_model() {
  if (model_ == nullptr) {
    const auto path = !options_.model.empty()
                          ? options_.model
                          : tables::packaged_weights(regression_, "pass the file of a model");
    model_ = load_tabular(path, inference_placement(parse_device(options_.device)));
  }
  return model_;
}

void TabularEstimator::set_model(std::shared_ptr<TabularTransformer> model) {
  const auto before = model_;
  model_ = std::move(model);
  if (!fitted_.has_value()) return;
  try {
    restore(state());
  } catch (...) {
    model_ = before;
    throw;
  }
}

TabularPredictor TabularEstimator::new_predictor() {
  if (model().config().is_regression() != regression_) {
    fail(ErrorKind::invalid_argument, "fit",
         regression_ ? "the model predicts classes; a regressor needs one that predicts numbers"
                     : "the model predicts numbers; a classifier needs one that predicts classes");
  }
  return {model_, options_.predictor()};
}

void TabularEstimator::fit_encoded(const tables::Table& x, const std::vector<std::int64_t>& rows,
                                   const Tensor& y, std::int64_t n_classes,
                                   const std::string& target, const FitWeights& weights) {
  Fitted fitted{tables::TableEncoder::fit(x, rows, target), new_predictor()};
  std::vector<std::string> warnings;
  const Tensor encoded = fitted.encoder.transform(x, rows, warnings, "fit");
  fitted.predictor.fit(encoded, y, n_classes, fitted.encoder.features(), weights);
  warnings.insert(warnings.end(), fitted.predictor.warnings().begin(),
                  fitted.predictor.warnings().end());
  fitted_ = std::move(fitted);
  warnings_ = std::move(warnings);
}

TabularEstimator::State TabularEstimator::state() const {
  if (!fitted_.has_value()) fail(ErrorKind::invalid_argument, "state", "call fit first");
  return {fitted_->encoder.to_json(), fitted_->predictor.state()};
}

void TabularEstimator::restore(const State& state) {
  Fitted fitted{tables::TableEncoder::from_json(state.encoder), new_predictor()};
  fitted.predictor.restore(state.predictor, fitted.encoder.features());
  fitted_ = std::move(fitted);
  warnings_.clear();
}

std::vector<std::string> TabularEstimator::feature_names() const {
  return fitted_.has_value() ? fitted_->encoder.names() : std::vector<std::string>();
}

TabularPredictor& TabularEstimator::predictor() {
  if (!fitted_.has_value()) fail(ErrorKind::invalid_argument, "predict", "call fit first");
  return fitted_->predictor;
}

Tensor TabularEstimator::encode(const tables::Table& table) {
  predictor();
  std::vector<std::string> warnings;
  const Tensor x = fitted_->encoder.transform(table, warnings);
  warnings_ = std::move(warnings);
  return x;
}

Tensor TabularEstimator::embed(const tables::Table& table) {
  const Tensor x = encode(table);
  return predictor().embed(x, progress_);
}

Tensor TabularEstimator::importance(const tables::Table& table) {
  const Tensor x = encode(table);
  return predictor().importance(x, column_groups(), progress_);
}

std::vector<std::vector<std::int64_t>> TabularEstimator::column_groups() const {
  std::vector<std::vector<std::int64_t>> groups;
  std::int64_t next = 0;
  for (const tables::ColumnEncoder& column : fitted_->encoder.columns()) {
    std::vector<std::int64_t>& group = groups.emplace_back();
    for (std::int64_t i = 0; i < column.n_features(); ++i) group.push_back(next++);
  }
  return groups;
}

void TabularClassifier::fit(const tables::Table& table, const std::string& target,
                            const std::vector<double>& sample_weight) {
  tables::Target read = tables::read_classes(table, target);
  fit_encoded(table, read.rows, read.y, read.n_classes(), target,
              {weights_of(sample_weight, table, read.rows), class_weights_of(options(), read)});
  const tables::TableColumn& column = table.column(table.find(target));
  const bool is_number = column.type == tables::ValueType::number;
  const bool is_boolean = is_number && column.numbers.dtype() == DType::boolean;
  label_type_ = is_boolean ? "boolean" : (is_number ? "number" : "text");
  classes_ = std::move(read.classes);
  warnings_.insert(warnings_.begin(), read.warnings.begin(), read.warnings.end());
}

Tensor TabularClassifier::predict_proba(const tables::Table& table) {
  const Tensor x = encode(table);
  return predictor().predict_proba(x, progress_);
}

std::vector<std::string> TabularClassifier::predict(const tables::Table& table) {
  const Tensor probabilities = predict_proba(table);
  const auto* of = probabilities.data_as<double>();
  std::vector<std::string> labels;
  for (std::int64_t row = 0; row < probabilities.size(0); ++row, of += classes_.size()) {
    labels.push_back(
        classes_[static_cast<std::size_t>(std::max_element(of, of + classes_.size()) - of)]);
  }
  return labels;
}

void TabularRegressor::fit(const tables::Table& table, const std::string& target,
                           const std::vector<double>& sample_weight) {
  const tables::Target read = tables::read_numbers(table, target);
  fit_encoded(table, read.rows, read.y, 0, target,
              {weights_of(sample_weight, table, read.rows), {}});
  warnings_.insert(warnings_.begin(), read.warnings.begin(), read.warnings.end());
}

Tensor TabularRegressor::predict(const tables::Table& table) {
  return predict_distribution(table).means;
}

TargetDistribution TabularRegressor::predict_distribution(const tables::Table& table) {
  const Tensor x = encode(table);
  return predictor().predict_distribution(x, progress_);
}

}  // namespace causeway::models
