#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kName = "tabular predictor";

Device device_of(const TabularTransformer& model) { return model.parameters().front().device(); }

// The mean and one over the deviation of the finite numbers among some; 0 of a constant. They are
// taken of numbers near 1, by a power of two, so that no square is too large or too small.
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

void require_table(const Tensor& x) {
  if (x.n_dims() == 2 && x.dtype() == DType::f64 && x.device() == Device::cpu()) return;
  fail(ErrorKind::shape_mismatch, kName,
       fmt::format("a table {} of {}: expected (rows, features) f64 on the CPU",
                   to_string(x.shape()), to_string(x.dtype())));
}

}  // namespace

void PredictorOptions::check() const {
  const auto refuse = [](const char* what, std::int64_t value) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("{} is {}; expected 1 or more", what, value));
  };
  if (n_estimators < 1) refuse("n_estimators", n_estimators);
  if (max_features < 1) refuse("max_features", max_features);
  if (max_rows < 1) refuse("max_rows", max_rows);
}

std::vector<std::int64_t> stratified_sample(std::span<const std::int64_t> classes,
                                            std::int64_t count, Generator& generator) {
  const auto n_rows = static_cast<std::int64_t>(classes.size());
  count = std::min(count, n_rows);
  // In random order, every class's rows get the places (k + 1/2) / size of 0 to 1; the first of all
  // by place are then everywhere its share.
  std::vector<std::int64_t> sizes;
  for (const std::int64_t c : classes) {
    if (c >= static_cast<std::int64_t>(sizes.size())) sizes.resize(static_cast<std::size_t>(c) + 1);
    ++sizes[static_cast<std::size_t>(c)];
  }
  const auto order = generator.permutation(n_rows).to_vector<std::int64_t>();
  std::vector<std::int64_t> met(sizes.size(), 0);
  struct Place {
    bool later;  // the first of a class comes before all others
    double share;
    std::int64_t row;
  };
  std::vector<Place> places;
  for (const std::int64_t row : order) {
    const auto c = static_cast<std::size_t>(classes[static_cast<std::size_t>(row)]);
    const auto k = static_cast<double>(met[c]++);
    places.push_back({k > 0, (k + 0.5) / static_cast<double>(sizes[c]), row});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.later, a.share) < std::pair(b.later, b.share);
  });
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(places[static_cast<std::size_t>(i)].row);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

TabularPredictor::TabularPredictor(std::shared_ptr<TabularTransformer> model,
                                   const PredictorOptions& options)
    : model_(std::move(model)), options_(options) {
  options_.check();
}

void TabularPredictor::require_fits(const Tensor& y, std::int64_t n_classes) const {
  if (is_regression()) {
    for (const double value : y.to_vector<double>()) {
      if (!std::isfinite(value)) {
        fail(ErrorKind::invalid_argument, kName,
             "a known target is not a finite number; leave its row out");
      }
    }
    return;
  }
  const std::int64_t most = model_->config().classes;
  if (n_classes > most) {
    fail(
        ErrorKind::invalid_argument, kName,
        fmt::format("{} classes; the model tells at most {}: join classes that are rare, or take a "
                    "model that was trained with more",
                    n_classes, most));
  }
  for (const double value : y.to_vector<double>()) {
    if (!(value >= 0 && value < static_cast<double>(n_classes) && value == std::floor(value))) {
      fail(ErrorKind::invalid_argument, kName,
           fmt::format("class {}: expected whole numbers from 0 to {}", value, n_classes - 1));
    }
  }
}

std::vector<std::int64_t> TabularPredictor::choose_rows(const Tensor& y) {
  const std::int64_t n_rows = y.size(0);
  if (n_rows == 0) fail(ErrorKind::invalid_argument, kName, "there are no rows to learn from");
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n_rows));
  std::iota(rows.begin(), rows.end(), 0);
  if (n_rows <= options_.max_rows) return rows;
  notes_.push_back(fmt::format(
      "{} rows are more than {}: a {} of as many is kept; max_rows changes "
      "it, and costs time and memory",
      n_rows, options_.max_rows, is_regression() ? "random sample" : "stratified sample"));
  Generator generator(options_.seed);
  const std::vector<std::int64_t> classes = is_regression()
                                                ? std::vector<std::int64_t>(rows.size(), 0)
                                                : y.to(DType::i64).to_vector<std::int64_t>();
  return stratified_sample(classes, options_.max_rows, generator);
}

void TabularPredictor::choose_columns(const Tensor& x, const std::vector<std::int64_t>& rows,
                                      const std::vector<std::string>& names) {
  columns_.clear();
  const auto* values = x.data_as<double>();
  std::string empty;
  for (std::int64_t place = 0; place < n_features_; ++place) {
    std::vector<double> column;
    for (const std::int64_t row : rows) column.push_back(values[row * n_features_ + place]);
    const auto [mean, inverse] = moments_of(column);
    if (inverse != 0) columns_.push_back({place, mean, inverse});
    if (std::all_of(column.begin(), column.end(), [](double v) { return std::isnan(v); })) {
      const auto at = static_cast<std::size_t>(place);
      empty += (empty.empty() ? "" : ", ") +
               (at < names.size() ? shown(names[at]) : std::to_string(place));
    }
  }
  if (!empty.empty()) {
    notes_.push_back(
        fmt::format("columns without a value in any known row are left out: {}", empty));
  }
  if (columns_.empty()) columns_.push_back({0, 0, 0});  // a table has a column, if one of nothing
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  if (n_columns > options_.max_features) {
    fail(ErrorKind::invalid_argument, kName,
         fmt::format("{} features are more than {}: choose those that matter (scikit-learn's "
                     "SelectKBest does), or raise max_features, which costs time and memory",
                     n_columns, options_.max_features));
  }
}

void TabularPredictor::make_members() {
  members_.clear();
  Generator generator(options_.seed);
  generator.seek(1);  // the sample of rows was 0
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  for (std::int64_t i = 0; i < options_.n_estimators; ++i) {
    Member member;
    member.columns = generator.permutation(n_columns).to_vector<std::int64_t>();
    if (i == 0) std::iota(member.columns.begin(), member.columns.end(), 0);
    if (!is_regression()) member.turn = i % n_outputs_;
    members_.push_back(member);
  }
}

void TabularPredictor::fit(const Tensor& x, const Tensor& y, std::int64_t n_classes,
                           const std::vector<std::string>& names) {
  require_table(x);
  if (y.shape() != Shape{x.size(0)} || y.dtype() != DType::f64 || x.size(1) == 0) {
    fail(ErrorKind::shape_mismatch, kName,
         fmt::format("x {}, y {} of {}: expected a target for each row, f64, and a feature or more",
                     to_string(x.shape()), to_string(y.shape()), to_string(y.dtype())));
  }
  require_fits(y, n_classes);
  notes_.clear();
  contexts_.clear();
  const Tensor table = x.contiguous();
  n_features_ = x.size(1);
  n_outputs_ = is_regression() ? model_->config().bins : n_classes;
  const std::vector<std::int64_t> rows = choose_rows(y);
  choose_columns(table, rows, names);
  n_known_ = static_cast<std::int64_t>(rows.size());
  known_x_.clear();
  known_y_.clear();
  const auto targets = y.to_vector<double>();
  for (const std::int64_t row : rows) {
    const double* from = table.data_as<double>() + row * n_features_;
    known_x_.insert(known_x_.end(), from, from + n_features_);
    known_y_.push_back(targets[static_cast<std::size_t>(row)]);
  }
  const auto [mean, inverse] = moments_of(known_y_);
  target_ = {0, mean, inverse};
  make_members();
  if (!keeps_contexts()) return;
  for (const Batch& batch : batches()) contexts_.push_back(make_context(batch));
}

std::size_t TabularPredictor::context_bytes() const {
  const TabularConfig& config = model_->config();
  const std::int64_t tokens =
      (n_known_ + config.thinking) * (static_cast<std::int64_t>(columns_.size()) + 1);
  return static_cast<std::size_t>(tokens * config.layers * config.width * 2) *
         size_of(model_->parameters().front().dtype());
}

bool TabularPredictor::keeps_contexts() const {
  return members_.size() * context_bytes() <= options_.cache_bytes;
}

std::vector<TabularPredictor::Batch> TabularPredictor::batches() const {
  // A GPU is filled by all of them at once; a CPU is busy with one, whose memory the next reuses.
  const bool fits = members_.size() * context_bytes() * 8 <= options_.cache_bytes;
  if (fits && device_of(*model_).is_cuda()) return {{0, members_.size()}};
  std::vector<Batch> single;
  for (std::size_t i = 0; i < members_.size(); ++i) single.push_back({i, 1});
  return single;
}

Tensor TabularPredictor::arrange(const Batch& batch, const double* x, std::int64_t n_rows,
                                 std::int64_t row_step) const {
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  const Tensor made = Tensor::empty({static_cast<std::int64_t>(batch.count), n_rows, n_columns},
                                    DType::f32, Device::cpu());
  auto* to = made.data_as<float>();
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      for (const std::int64_t place : members_[i].columns) {
        const Column& column = columns_[static_cast<std::size_t>(place)];
        const double value = x[row * row_step + column.place];
        const double z = column.inverse == 0 ? 0 : (value - column.mean) * column.inverse;
        *to++ = static_cast<float>(std::clamp(z, -100.0, 100.0));
      }
    }
  }
  return made.to(device_of(*model_));
}

TableContext TabularPredictor::make_context(const Batch& batch) {
  const Device device = device_of(*model_);
  const auto n_tables = static_cast<std::int64_t>(batch.count);
  std::vector<float> y;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    for (const double value : known_y_) {
      const double said = is_regression() ? (value - target_.mean) * target_.inverse
                                          : std::fmod(value + static_cast<double>(members_[i].turn),
                                                      static_cast<double>(n_outputs_));
      y.push_back(static_cast<float>(said));
    }
    sizes.insert(sizes.end(), {n_known_, static_cast<std::int64_t>(columns_.size()), n_known_});
  }
  return model_->remember({arrange(batch, known_x_.data(), n_known_, n_features_),
                           Tensor::from<float>(y, {n_tables, n_known_}, device),
                           Tensor::from<std::int64_t>(sizes, {n_tables, 3}, device)});
}

std::int64_t TabularPredictor::rows_at_once(const Batch& batch) const {
  const std::int64_t tokens = device_of(*model_) == Device::cpu() ? 1 << 16 : 1 << 20;
  const auto each = static_cast<std::int64_t>(batch.count * (columns_.size() + 1));
  return std::clamp<std::int64_t>(tokens / each, 1, 4096);
}

void TabularPredictor::add_answers(const Batch& batch, const Tensor& logits, double* out) const {
  const std::int64_t n_rows = logits.size(1);
  const std::int64_t n_said = logits.size(2);
  const auto values = logits.to(Device::cpu()).to(DType::f64).contiguous().to_vector<double>();
  const double share = 1 / static_cast<double>(members_.size());
  std::vector<double> odds(static_cast<std::size_t>(n_outputs_));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(batch.count); ++i) {
    const Member& member = members_[batch.first + static_cast<std::size_t>(i)];
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const double* of = values.data() + (i * n_rows + row) * n_said;
      const double largest = *std::max_element(of, of + n_outputs_);
      double sum = 0;
      for (std::int64_t c = 0; c < n_outputs_; ++c) {
        odds[static_cast<std::size_t>(c)] = std::exp(of[c] - largest);
        sum += odds[static_cast<std::size_t>(c)];
      }
      for (std::int64_t c = 0; c < n_outputs_; ++c) {
        const auto said = static_cast<std::size_t>((c + member.turn) % n_outputs_);
        out[row * n_outputs_ + c] += share * odds[said] / sum;
      }
    }
  }
}

Tensor TabularPredictor::probabilities(const Tensor& x) {
  require_table(x);
  if (n_outputs_ == 0) fail(ErrorKind::invalid_argument, kName, "call fit first");
  if (x.size(1) != n_features_) {
    fail(ErrorKind::shape_mismatch, kName,
         fmt::format("rows of {} features; fit had {}", x.size(1), n_features_));
  }
  const std::int64_t n_rows = x.size(0);
  if (n_outputs_ == 1) return ones({n_rows, 1}, DType::f64);
  const Tensor table = x.contiguous();
  Tensor out = zeros({n_rows, n_outputs_}, DType::f64);
  const std::vector<Batch> all = batches();
  for (std::size_t b = 0; b < all.size(); ++b) {
    const TableContext context = contexts_.empty() ? make_context(all[b]) : contexts_[b];
    const std::int64_t step = rows_at_once(all[b]);
    for (std::int64_t row = 0; row < n_rows; row += step) {
      const Tensor asked = arrange(all[b], table.data_as<double>() + row * n_features_,
                                   std::min(step, n_rows - row), n_features_);
      add_answers(all[b], model_->tell(context, asked), out.data_as<double>() + row * n_outputs_);
    }
  }
  return out;
}

Tensor TabularPredictor::numbers(const Tensor& x) {
  if (!is_regression()) fail(ErrorKind::invalid_argument, kName, "the model tells classes");
  const Tensor shares = probabilities(x);
  const std::vector<double> centres = model_->centres();
  Tensor out = Tensor::empty({x.size(0)}, DType::f64);
  const double deviation = target_.inverse == 0 ? 0 : 1 / target_.inverse;
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const double* of = shares.data_as<double>() + row * n_outputs_;
    const double z = std::inner_product(centres.begin(), centres.end(), of, 0.0);
    out.data_as<double>()[row] = target_.mean + z * deviation;
  }
  return out;
}

}  // namespace causeway::models
