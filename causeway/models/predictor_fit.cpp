// TabularPredictor::fit: checks and samples rows, standardises columns and draws the ensemble.
#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/split.h"
#include "causeway/tensor/indexing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// Calls of the generator that draw the members' rows. Call 0 draws those of the first.
constexpr std::uint64_t kRowCalls = std::uint64_t{1} << 20;
// The most members that there are for the sake of columns.
constexpr std::int64_t kMostForColumns = 16;

std::vector<std::int64_t> strata_of(const Tensor& y, bool regression) {
  if (regression) return std::vector<std::int64_t>(static_cast<std::size_t>(y.size(0)), 0);
  return y.to(DType::i64).to_vector<std::int64_t>();
}

Tensor rows_tensor(const std::vector<std::int64_t>& rows) {
  return Tensor::from<std::int64_t>(rows, {static_cast<std::int64_t>(rows.size())});
}

std::vector<std::int64_t> range(std::int64_t n) {
  std::vector<std::int64_t> made(static_cast<std::size_t>(n));
  std::iota(made.begin(), made.end(), 0);
  return made;
}

}  // namespace

void PredictorOptions::check() const {
  const auto refuse = [](const char* what, std::int64_t value) {
    fail(ErrorKind::invalid_argument, kTabularPredictor,
         fmt::format("{} is {}; expected 1 or more", what, value));
  };
  constexpr std::int64_t kMostEstimators = 10'000;
  if (n_estimators < 1) refuse("n_estimators", n_estimators);
  if (n_estimators > kMostEstimators) {
    fail(ErrorKind::invalid_argument, kTabularPredictor,
         fmt::format("n_estimators is {}; expected at most {}", n_estimators, kMostEstimators));
  }
  if (max_features < 1) refuse("max_features", max_features);
  if (max_rows < 1) refuse("max_rows", max_rows);
  if (transforms.empty()) refuse("the number of transforms", 0);
  if (target_transforms.empty()) refuse("the number of target transforms", 0);
  if (temperature != kAutomatic && !(temperature >= 0 && std::isfinite(temperature))) {
    fail(ErrorKind::invalid_argument, kTabularPredictor,
         fmt::format("temperature is {}; expected a positive number", temperature));
  }
}

std::vector<double> balanced_class_weight(const Tensor& y, std::int64_t n_classes) {
  std::vector<double> counts(static_cast<std::size_t>(n_classes), 0);
  for (const double c : y.to_vector<double>()) ++counts[static_cast<std::size_t>(c)];
  for (double& count : counts) {
    const auto n_rows = static_cast<double>(y.size(0));
    if (count > 0) count = n_rows / (static_cast<double>(n_classes) * count);
  }
  return counts;
}

void TabularPredictor::require_table(const Tensor& x) {
  if (x.n_dims() == 2 && x.dtype() == DType::f64 && x.device() == Device::cpu()) return;
  fail(ErrorKind::shape_mismatch, kTabularPredictor,
       fmt::format("table {} of {}: expected (rows, features) f64 on the CPU", to_string(x.shape()),
                   to_string(x.dtype())));
}

TabularPredictor::TabularPredictor(std::shared_ptr<TabularTransformer> model,
                                   const PredictorOptions& options)
    : model_(std::move(model)), options_(options), lock_(std::make_unique<std::mutex>()) {
  options_.check();
  if (options_.temperature == kAutomatic) options_.temperature = is_regression() ? 0.8 : 0.9;
}

void TabularPredictor::require_target(const Tensor& y, std::int64_t n_classes) const {
  const auto values = y.to_vector<double>();
  if (is_regression()) {
    constexpr double kGreatest = 1e300;  // sums and differences of targets must not overflow
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (std::fabs(values[row]) <= kGreatest) continue;
      if (std::isfinite(values[row])) {
        fail(ErrorKind::invalid_argument, kTabularPredictor,
             fmt::format("target, row {} (from 0): {}; expected at most {}: use a larger unit", row,
                         values[row], kGreatest));
      }
      fail(ErrorKind::invalid_argument, kTabularPredictor,
           fmt::format("target, row {} (from 0): {}; expected a finite number", row,
                       std::isnan(values[row]) ? "NaN" : "infinity"));
    }
    return;
  }
  for (const double value : values) {
    if (!(value >= 0 && value < static_cast<double>(n_classes) && value == std::floor(value))) {
      fail(ErrorKind::invalid_argument, kTabularPredictor,
           fmt::format("class {}: expected integers from 0 to {}", value, n_classes - 1));
    }
  }
}

void TabularPredictor::require_weights(const FitWeights& weights, std::int64_t n_rows,
                                       std::int64_t n_classes) const {
  const auto require = [](const char* what, const std::vector<double>& values, std::int64_t n) {
    if (values.empty()) return;
    if (std::ssize(values) != n) {
      fail(ErrorKind::shape_mismatch, kTabularPredictor,
           fmt::format("{} {} for {}", values.size(), what, n));
    }
    double greatest = 0;
    for (const double value : values) {
      if (!(value >= 0 && std::isfinite(value))) {
        fail(ErrorKind::invalid_argument, kTabularPredictor,
             fmt::format("{}: {}; expected finite numbers, 0 or more", what, value));
      }
      greatest = std::max(greatest, value);
    }
    if (greatest == 0) {
      fail(ErrorKind::invalid_argument, kTabularPredictor, fmt::format("all {} are 0", what));
    }
  };
  require("sample weights", weights.rows, n_rows);
  require("class weights", weights.classes, n_classes);
}

std::int64_t TabularPredictor::most_classes(std::int64_t n_classes) const {
  const bool is_native = model_->config().decoder == TabularDecoder::retrieval;
  return is_native ? n_classes : model_->config().classes;
}

std::int64_t TabularPredictor::count_members(std::int64_t n_columns, std::int64_t n_classes,
                                             std::vector<std::string>& warnings) const {
  std::int64_t n_members = options_.n_estimators;
  if (!is_regression() && n_classes > most_classes(n_classes)) {
    n_members = std::max(n_members, members_for_classes(n_classes, most_classes(n_classes)));
    warnings.push_back(
        fmt::format("{} classes are more than the model's {}: each of {} ensemble members predicts "
                    "groups of classes",
                    n_classes, most_classes(n_classes), n_members));
  }
  if (n_columns > options_.max_features) {
    const std::int64_t all = (n_columns + options_.max_features - 1) / options_.max_features;
    n_members = std::max(n_members, std::min(all, kMostForColumns));
    std::string text = fmt::format(
        "{} features are more than max_features = {}: each of {} ensemble members reads that many, "
        "drawn at random",
        n_columns, options_.max_features, n_members);
    const std::int64_t n_read = n_members * options_.max_features;
    if (n_read < n_columns) text += fmt::format("; {} are not read", n_columns - n_read);
    warnings.push_back(text +
                       "; select the most useful ones (scikit-learn's SelectKBest does), or "
                       "raise max_features, which costs time and memory");
  }
  return n_members;
}

std::vector<std::vector<std::int64_t>> TabularPredictor::draw_rows(
    const Tensor& y, std::int64_t n_members, const std::vector<double>& weights) const {
  std::vector<std::int64_t> rows = range(y.size(0));
  std::erase_if(rows, [&](std::int64_t row) {
    return !weights.empty() && weights[static_cast<std::size_t>(row)] == 0;
  });
  const auto all_strata = strata_of(y, is_regression());
  std::vector<std::int64_t> strata;
  std::vector<double> positive;
  for (const std::int64_t row : rows) {
    strata.push_back(all_strata[static_cast<std::size_t>(row)]);
    if (!weights.empty()) positive.push_back(weights[static_cast<std::size_t>(row)]);
  }
  const bool is_even =
      std::adjacent_find(positive.begin(), positive.end(), std::not_equal_to<>()) == positive.end();
  const std::int64_t count = std::min(std::ssize(rows), options_.max_rows);
  std::vector<std::vector<std::int64_t>> drawn;
  for (std::int64_t i = 0; i < n_members; ++i) {
    Generator generator(options_.seed);
    if (i > 0) generator.seek(kRowCalls + 2 * static_cast<std::uint64_t>(i));
    std::vector<std::int64_t> chosen =
        is_even ? tables::stratified_sample(strata, count, generator)
                : tables::weighted_sample(positive, strata, count, generator);
    for (std::int64_t& row : chosen) row = rows[static_cast<std::size_t>(row)];
    drawn.push_back(std::move(chosen));
  }
  return drawn;
}

void TabularPredictor::choose_columns(Fitted& fitted) const {
  const std::vector<std::string>& names = fitted.features.names;
  std::string empty;
  for (std::int64_t position = 0; position < fitted.n_features; ++position) {
    const std::vector<double> column = column_values(fitted.x, position);
    if (!ColumnTransform(Transform::none, column).is_constant()) {
      fitted.positions.push_back(position);
    }
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
  if (fitted.positions.empty()) fitted.positions.push_back(0);  // constant, which reads as 0
  for (const Transform given : options_.transforms) {
    const Transform transform = given == Transform::components ? Transform::none : given;
    std::vector<ColumnTransform>& of_columns = fitted.transforms[transform];
    if (!of_columns.empty()) continue;
    for (const std::int64_t position : fitted.positions) {
      of_columns.emplace_back(transform, column_values(fitted.x, position));
    }
  }
}

TabularPredictor::Fitted TabularPredictor::prepare(const State& state,
                                                   const tables::Features& features) const {
  Fitted fitted;
  fitted.n_features = state.x.size(1);
  fitted.features = features;
  fitted.n_outputs = is_regression() ? model_->config().bins : state.n_classes;
  fitted.given = state.x.contiguous();
  fitted.ranked = rank_columns(fitted.given);
  fitted.x = with_ranks(fitted.given, fitted.ranked);
  fitted.y = state.y.contiguous();
  fitted.class_weight = state.class_weight;
  fitted.temperature = state.temperature;
  fitted.member_weights = state.member_weights;
  choose_columns(fitted);
  if (!is_regression()) {
    fitted.frequencies.assign(static_cast<std::size_t>(state.n_classes), 1e-6);
    for (const double c : fitted.y.to_vector<double>()) {
      fitted.frequencies[static_cast<std::size_t>(c)] += 1 / static_cast<double>(state.y.size(0));
    }
  }
  const auto n_columns = static_cast<std::int64_t>(fitted.positions.size());
  fitted.n_context = state.rows.size(1);
  const auto columns =
      draw_columns(state.rows.size(0), n_columns, options_.max_features, options_.seed);
  for (std::int64_t i = 0; i < state.rows.size(0); ++i) {
    const auto at = static_cast<std::size_t>(i);
    EnsembleMember member;
    member.rows = state.rows.select(0, i).contiguous().to_vector<std::int64_t>();
    member.columns = columns[at];
    member.transform = options_.transforms[at % options_.transforms.size()];
    if (!is_regression()) {
      member.codes = draw_codes(i, state.n_classes, most_classes(state.n_classes), options_.seed);
    }
    fitted.members.push_back(std::move(member));
  }
  if (is_regression()) fit_target(fitted, state.reads_residuals);
  fit_components(fitted.members, fitted.x, fitted.positions, features, options_.max_features,
                 options_.seed);
  return fitted;
}

void TabularPredictor::keep(Fitted&& fitted) {
  const std::scoped_lock lock(*lock_);
  fitted_ = std::move(fitted);
  fitted_.caches = can_cache();
  fitted_.contexts.resize(batches().size());
}

void TabularPredictor::fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
                           const tables::Features& features, const FitWeights& weights) {
  require_table(x);
  if (y.shape() != Shape{x.size(0)} || y.dtype() != DType::f64 || x.size(1) == 0) {
    fail(ErrorKind::shape_mismatch, kTabularPredictor,
         fmt::format("x {}, y {} of {}: expected one f64 target per row and at least one feature",
                     to_string(x.shape()), to_string(y.shape()), to_string(y.dtype())));
  }
  require_target(y, n_classes);
  require_weights(weights, x.size(0), n_classes);
  if (x.size(0) == 0) fail(ErrorKind::invalid_argument, kTabularPredictor, "the table has no rows");
  std::int64_t n_columns = 0;
  const Tensor read = with_ranks(x, rank_columns(x));
  for (std::int64_t i = 0; i < x.size(1); ++i) {
    n_columns += ColumnTransform(Transform::none, column_values(read, i)).is_constant() ? 0 : 1;
  }
  std::vector<std::string> warnings;
  if (x.size(0) > options_.max_rows) {
    warnings.push_back(fmt::format(
        "{} rows are more than max_rows = {}: each ensemble member reads another {} sample of that "
        "size as context; a larger max_rows costs time and memory",
        x.size(0), options_.max_rows, is_regression() ? "random" : "stratified"));
  }
  const std::int64_t n_members = count_members(n_columns, n_classes, warnings);
  const auto drawn = draw_rows(y, n_members, weights.rows);
  std::set<std::int64_t> used;
  for (const auto& rows : drawn) used.insert(rows.begin(), rows.end());
  const std::vector<std::int64_t> kept(used.begin(), used.end());
  State state{index_select(x, 0, rows_tensor(kept)),
              index_select(y, 0, rows_tensor(kept)),
              Tensor::empty({n_members, std::ssize(drawn.front())}, DType::i64),
              n_classes,
              weights.classes,
              options_.temperature,
              {},
              reads_residuals_};
  auto* to = state.rows.data_as<std::int64_t>();
  for (const auto& rows : drawn) {
    for (const std::int64_t row : rows) {
      *to++ = std::lower_bound(kept.begin(), kept.end(), row) - kept.begin();
    }
  }
  Fitted fitted = prepare(state, features);
  fitted.warnings.insert(fitted.warnings.begin(), warnings.begin(), warnings.end());
  calibrate(fitted);
  keep(std::move(fitted));
}

TabularPredictor::State TabularPredictor::state() const {
  if (fitted_.n_outputs == 0)
    fail(ErrorKind::invalid_argument, kTabularPredictor, "call fit first");
  std::vector<std::int64_t> rows;
  for (const EnsembleMember& member : fitted_.members) {
    rows.insert(rows.end(), member.rows.begin(), member.rows.end());
  }
  return {fitted_.given,
          fitted_.y,
          Tensor::from<std::int64_t>(rows, {std::ssize(fitted_.members), fitted_.n_context}),
          is_regression() ? 0 : fitted_.n_outputs,
          fitted_.class_weight,
          fitted_.temperature,
          fitted_.member_weights,
          is_regression() ? std::optional(fitted_.ridge.has_value()) : std::nullopt};
}

void TabularPredictor::restore(const State& state, const tables::Features& features) {
  require_table(state.x);
  require_target(state.y, state.n_classes);
  Fitted fitted = prepare(state, features);
  const std::int64_t n_weights = std::ssize(state.member_weights);
  const std::int64_t n_members = state.rows.size(0);
  const std::int64_t most = n_members + (fitted.ridge.has_value() ? 1 : 0);
  if (n_weights != 0 && (n_weights < n_members || n_weights > most)) {
    fail(ErrorKind::shape_mismatch, kTabularPredictor,
         fmt::format("{} member weights for {} members", n_weights, n_members));
  }
  keep(std::move(fitted));
}

}  // namespace causeway::models
