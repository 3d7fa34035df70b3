#include "causeway/models/estimator.h"

#include "causeway/core/error.h"
#include "causeway/models/tabular_file.h"
#include "causeway/tables/target.h"
#include "causeway/tables/weights.h"

#include <algorithm>
#include <cmath>

namespace causeway::models {

namespace {

// Whether the first rows of a column of numbers differ, so that it is certainly not constant.
bool varies_at_first(const tables::TableColumn& column, std::int64_t n_rows) {
  constexpr std::int64_t kRows = 16;
  if (column.type != tables::ValueType::number || column.missing.numel() > 0 ||
      column.numbers.device() != Device::cpu()) {
    return false;
  }
  const auto values = column.numbers.slice(0, 0, std::min(kRows, n_rows))
                          .to(DType::f64)
                          .contiguous()
                          .to_vector<double>();
  return std::adjacent_find(values.begin(), values.end(), [](double a, double b) {
           return a != b && std::isfinite(a) && std::isfinite(b);
         }) != values.end();
}

// Refuses a table with far too many columns before they are encoded, which takes long. Constant
// columns do not count.
void require_features(const tables::Table& x, const PredictorOptions& options) {
  if (x.n_columns() <= options.max_features + 1) return;  // one may be the target
  std::int64_t n_varying = 0;
  for (const tables::TableColumn& column : x.columns()) {
    n_varying += varies_at_first(column, x.n_rows()) ? 1 : 0;
    if (n_varying > options.max_features + 1) options.require_features(x.n_columns());
  }
}

}  // namespace

TabularEstimator::TabularEstimator(EstimatorOptions options, bool regression)
    : options_(std::move(options)), regression_(regression) {}

TabularEstimator::TabularEstimator(std::shared_ptr<TabularTransformer> model,
                                   EstimatorOptions options, bool regression)
    : options_(std::move(options)), regression_(regression), model_(std::move(model)) {}

TabularTransformer& TabularEstimator::model() {
  if (model_ == nullptr) {
    const auto path = !options_.model.empty()
                          ? options_.model
                          : tables::packaged_weights(regression_, "pass the file of a model");
    model_ = load_tabular(path, inference_placement(parse_device(options_.device)));
  }
  return *model_;
}

TabularPredictor TabularEstimator::new_predictor() {
  if (model().config().is_regression() != regression_) {
    fail(ErrorKind::invalid_argument, "fit",
         regression_ ? "the model predicts classes; a regressor needs one that predicts numbers"
                     : "the model predicts numbers; a classifier needs one that predicts classes");
  }
  return {model_,
          {options_.n_estimators, options_.max_features, options_.max_rows, options_.random_state}};
}

void TabularEstimator::fit_encoded(const tables::Table& x, const std::vector<std::int64_t>& rows,
                                   const Tensor& y, std::int64_t n_classes,
                                   const std::string& target) {
  TabularPredictor predictor = new_predictor();
  if (std::ssize(rows) == x.n_rows()) require_features(x, predictor.options());
  Fitted fitted{tables::TableEncoder::fit(x, rows, target), std::move(predictor), n_classes};
  std::vector<std::string> warnings;
  const Tensor encoded = fitted.encoder.transform(x, rows, warnings, "fit");
  fitted.predictor.fit(encoded, y, n_classes, fitted.encoder.names());
  warnings.insert(warnings.end(), fitted.predictor.warnings().begin(),
                  fitted.predictor.warnings().end());
  fitted_ = std::move(fitted);
  warnings_ = std::move(warnings);
}

TabularEstimator::State TabularEstimator::state() const {
  if (!fitted_.has_value()) fail(ErrorKind::invalid_argument, "state", "call fit first");
  return {fitted_->encoder.to_json(), fitted_->predictor.context_x(),
          fitted_->predictor.context_y(), fitted_->n_classes};
}

void TabularEstimator::restore(const State& state) {
  Fitted fitted{tables::TableEncoder::from_json(state.encoder), new_predictor(), state.n_classes};
  fitted.predictor.fit(state.x, state.y, state.n_classes, fitted.encoder.names());
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

void TabularClassifier::fit(const tables::Table& table, const std::string& target) {
  tables::Target read = tables::read_classes(table, target);
  fit_encoded(table, read.rows, read.y, read.n_classes(), target);
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

void TabularRegressor::fit(const tables::Table& table, const std::string& target) {
  const tables::Target read = tables::read_numbers(table, target);
  fit_encoded(table, read.rows, read.y, 0, target);
  warnings_.insert(warnings_.begin(), read.warnings.begin(), read.warnings.end());
}

Tensor TabularRegressor::predict(const tables::Table& table) {
  const Tensor x = encode(table);
  return predictor().predict_mean(x, progress_);
}

}  // namespace causeway::models
