// TabularPredictor::fit: checks and samples rows, standardises columns and draws the ensemble.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kName = "tabular predictor";

// The mean and the inverse standard deviation (0 for a constant) of the finite values. Values are
// scaled by a power of two, so that squares neither overflow nor underflow.
std::pair<double, double> moments_of(const std::vector<double>& values) {
  double greatest = 0;
  double n = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    greatest = std::max(greatest, std::fabs(value));
    n += 1;
  }
  if (greatest == 0) return {0, 0};
  const int exponent = std::clamp(std::ilogb(greatest), -1000, 1000);
  const double scale = std::ldexp(1.0, -exponent);
  double sum = 0;
  for (const double value : values) {
    if (std::isfinite(value)) sum += value * scale;
  }
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value * scale - mean) * (value * scale - mean);
  }
  const double deviation = std::sqrt(squares / n);
  const double inverse = scale / deviation;
  const bool varies = deviation > 1e-12 * std::fabs(mean) && std::isfinite(inverse);
  return {mean / scale, varies ? inverse : 0};
}

}  // namespace

void PredictorOptions::check() const {
  const auto refuse = [](const char* what, std::int64_t value) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("{} is {}; expected 1 or more", what, value));
  };
  constexpr std::int64_t kMostEstimators = 10'000;
  if (n_estimators < 1) refuse("n_estimators", n_estimators);
  if (n_estimators > kMostEstimators) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("n_estimators is {}; expected at most {}", n_estimators, kMostEstimators));
  }
  if (max_features < 1) refuse("max_features", max_features);
  if (max_rows < 1) refuse("max_rows", max_rows);
}

void PredictorOptions::require_features(std::int64_t n_features) const {
  if (n_features <= max_features) return;
  fail(ErrorKind::invalid_argument, kName,
       fmt::format("{} features are more than max_features = {}: select the most useful ones "
                   "(scikit-learn's SelectKBest does), or raise max_features, which costs time "
                   "and memory",
                   n_features, max_features));
}

void TabularPredictor::require_table(const Tensor& x) {
  if (x.n_dims() == 2 && x.dtype() == DType::f64 && x.device() == Device::cpu()) return;
  fail(ErrorKind::shape_mismatch, kName,
       fmt::format("table {} of {}: expected (rows, features) f64 on the CPU", to_string(x.shape()),
                   to_string(x.dtype())));
}

TabularPredictor::TabularPredictor(std::shared_ptr<TabularTransformer> model,
                                   const PredictorOptions& options)
    : model_(std::move(model)), options_(options), lock_(std::make_unique<std::mutex>()) {
  options_.check();
}

void TabularPredictor::require_target(const Tensor& y, std::int64_t n_classes) const {
  const auto values = y.to_vector<double>();
  if (is_regression()) {
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (std::isfinite(values[row])) continue;
      fail(ErrorKind::invalid_argument, kName,
           fmt::format("target, row {} (from 0): {}; expected a finite number", row,
                       std::isnan(values[row]) ? "NaN" : "infinity"));
    }
    return;
  }
  const std::int64_t most = model_->config().classes;
  if (n_classes > most && model_->config().decoder == TabularDecoder::linear) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("model outputs {} classes but the target has {}; merge rare classes, or use a "
                     "model with a retrieval decoder or trained with more classes",
                     most, n_classes));
  }
  for (const double value : values) {
    if (!(value >= 0 && value < static_cast<double>(n_classes) && value == std::floor(value))) {
      fail(ErrorKind::invalid_argument, kName,
           fmt::format("class {}: expected integers from 0 to {}", value, n_classes - 1));
    }
  }
}

std::vector<std::int64_t> TabularPredictor::choose_rows(const Tensor& y,
                                                        std::vector<std::string>& warnings) const {
  const std::int64_t n_rows = y.size(0);
  if (n_rows == 0) fail(ErrorKind::invalid_argument, kName, "the table has no rows");
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n_rows));
  std::iota(rows.begin(), rows.end(), 0);
  if (n_rows <= options_.max_rows) return rows;
  warnings.push_back(fmt::format(
      "{} rows are more than max_rows = {}: a {} of that size is used as context; a "
      "larger max_rows costs time and memory",
      n_rows, options_.max_rows, is_regression() ? "random sample" : "stratified sample"));
  Generator generator(options_.seed);
  const std::vector<std::int64_t> classes = is_regression()
                                                ? std::vector<std::int64_t>(rows.size(), 0)
                                                : y.to(DType::i64).to_vector<std::int64_t>();
  return tables::stratified_sample(classes, options_.max_rows, generator);
}

void TabularPredictor::choose_columns(Fitted& fitted, const std::vector<std::string>& names) const {
  std::string empty;
  for (std::int64_t position = 0; position < fitted.n_features; ++position) {
    std::vector<double> column;
    for (std::int64_t row = 0; row < fitted.n_context; ++row) {
      column.push_back(fitted.x[static_cast<std::size_t>(row * fitted.n_features + position)]);
    }
    const auto [mean, inverse] = moments_of(column);
    if (inverse != 0) fitted.columns.push_back({position, mean, inverse});
    if (std::all_of(column.begin(), column.end(), [](double v) { return std::isnan(v); })) {
      const auto at = static_cast<std::size_t>(position);
      empty += (empty.empty() ? "" : ", ") +
               (at < names.size() ? shown(names[at]) : std::to_string(position));
    }
  }
  if (!empty.empty()) {
    fitted.warnings.push_back(
        fmt::format("columns without a value in any context row are left out: {}", empty));
  }
  if (fitted.columns.empty()) fitted.columns.push_back({0, 0, 0});  // constant 0
  options_.require_features(static_cast<std::int64_t>(fitted.columns.size()));
}

void TabularPredictor::make_members(Fitted& fitted) const {
  Generator generator(options_.seed);
  generator.seek(1);  // call 0 draws the sample of rows
  const auto n_columns = static_cast<std::int64_t>(fitted.columns.size());
  for (std::int64_t i = 0; i < options_.n_estimators; ++i) {
    Member member;
    member.columns = generator.permutation(n_columns).to_vector<std::int64_t>();
    if (i == 0) std::iota(member.columns.begin(), member.columns.end(), 0);
    if (!is_regression()) member.shift = i % fitted.n_outputs;
    fitted.members.push_back(member);
  }
}

void TabularPredictor::fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
                           const std::vector<std::string>& names) {
  require_table(x);
  if (y.shape() != Shape{x.size(0)} || y.dtype() != DType::f64 || x.size(1) == 0) {
    fail(ErrorKind::shape_mismatch, kName,
         fmt::format("x {}, y {} of {}: expected one f64 target per row and at least one feature",
                     to_string(x.shape()), to_string(y.shape()), to_string(y.dtype())));
  }
  require_target(y, n_classes);
  const Tensor table = x.contiguous();
  const auto targets = y.to_vector<double>();
  Fitted fitted;
  fitted.n_features = x.size(1);
  fitted.n_outputs = is_regression() ? model_->config().bins : n_classes;
  for (const std::int64_t row : choose_rows(y, fitted.warnings)) {
    const double* from = table.data_as<double>() + row * fitted.n_features;
    fitted.x.insert(fitted.x.end(), from, from + fitted.n_features);
    fitted.y.push_back(targets[static_cast<std::size_t>(row)]);
    ++fitted.n_context;
  }
  choose_columns(fitted, names);
  const auto [mean, inverse] = moments_of(fitted.y);
  fitted.target = {0, mean, inverse};
  make_members(fitted);
  const std::scoped_lock lock(*lock_);
  fitted_ = std::move(fitted);
  fitted_.contexts.resize(batches().size());
}

Tensor TabularPredictor::context_x() const {
  return Tensor::from<double>(fitted_.x, {fitted_.n_context, fitted_.n_features});
}

Tensor TabularPredictor::context_y() const {
  return Tensor::from<double>(fitted_.y, {fitted_.n_context});
}

}  // namespace causeway::models
