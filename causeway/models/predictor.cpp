#include "causeway/models/predictor.h"

#include "causeway/core/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kName = "tabular predictor";

Device device_of(const TabularTransformer& model) { return model.parameters().front().device(); }

}  // namespace

// Maps the progress of one unit of work after the other to the fraction of all of them.
class TabularPredictor::Work {
 public:
  Work(double total, const ProgressHook& hook) : total_(total), hook_(hook) {}

  // The hook for the next unit of `flops` operations.
  ProgressHook begin(double flops) {
    start_ += unit_;
    unit_ = flops;
    if (!hook_) return {};
    return [this](double done) { hook_(std::min((start_ + unit_ * done) / total_, 1.0)); };
  }

 private:
  double total_;
  double start_ = 0;
  double unit_ = 0;
  const ProgressHook& hook_;
};

std::size_t TabularPredictor::context_bytes() const {
  const TabularConfig& config = model_->config();
  const std::int64_t tokens = (fitted_.n_context + config.thinking) *
                              (static_cast<std::int64_t>(fitted_.columns.size()) + 1);
  return static_cast<std::size_t>(tokens * config.layers * config.width * 2) *
         size_of(model_->parameters().front().dtype());
}

bool TabularPredictor::caches_contexts() const {
  return fitted_.members.size() * context_bytes() <= options_.cache_bytes;
}

std::vector<TabularPredictor::Batch> TabularPredictor::batches() const {
  // All members together fill a GPU. On a CPU members run one by one, which needs less memory.
  const std::size_t n_members = fitted_.members.size();
  const bool fits = n_members * context_bytes() * 8 <= options_.cache_bytes;
  if (fits && device_of(*model_).is_cuda()) return {{0, n_members}};
  std::vector<Batch> single;
  for (std::size_t i = 0; i < n_members; ++i) single.push_back({i, 1});
  return single;
}

Tensor TabularPredictor::arrange(const Batch& batch, const double* x, std::int64_t n_rows) const {
  const auto n_columns = static_cast<std::int64_t>(fitted_.columns.size());
  const Tensor made = Tensor::empty({static_cast<std::int64_t>(batch.count), n_rows, n_columns},
                                    DType::f32, Device::cpu());
  auto* to = made.data_as<float>();
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      for (const std::int64_t at : fitted_.members[i].columns) {
        const Column& column = fitted_.columns[static_cast<std::size_t>(at)];
        const double value = x[row * fitted_.n_features + column.position];
        const double z = column.inverse == 0 ? 0 : (value - column.mean) * column.inverse;
        *to++ = static_cast<float>(std::clamp(z, -100.0, 100.0));
      }
    }
  }
  return made.to(device_of(*model_));
}

TableContext TabularPredictor::make_context(const Batch& batch,
                                            const ProgressHook& progress) const {
  const Device device = device_of(*model_);
  const auto n_tables = static_cast<std::int64_t>(batch.count);
  const auto n_columns = static_cast<std::int64_t>(fitted_.columns.size());
  std::vector<float> y;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const auto shift = static_cast<double>(fitted_.members[i].shift);
    for (const double value : fitted_.y) {
      const double target = is_regression()
                                ? (value - fitted_.target.mean) * fitted_.target.inverse
                                : std::fmod(value + shift, static_cast<double>(fitted_.n_outputs));
      y.push_back(static_cast<float>(target));
    }
    sizes.insert(sizes.end(), {fitted_.n_context, n_columns, fitted_.n_context});
  }
  return model_->encode_context({arrange(batch, fitted_.x.data(), fitted_.n_context),
                                 Tensor::from<float>(y, {n_tables, fitted_.n_context}, device),
                                 Tensor::from<std::int64_t>(sizes, {n_tables, 3}, device)},
                                progress);
}

TableContext TabularPredictor::context_of(std::size_t number, const Batch& batch, Work& work) {
  const auto flops = static_cast<double>(batch.count) *
                     TabularWork::of_context(model_->config(), fitted_.n_context,
                                             static_cast<std::int64_t>(fitted_.columns.size()))
                         .total();
  if (!caches_contexts()) return make_context(batch, work.begin(flops));
  const std::scoped_lock lock(*lock_);
  std::optional<TableContext>& kept = fitted_.contexts[number];
  if (!kept.has_value()) kept = make_context(batch, work.begin(flops));
  return *kept;
}

std::int64_t TabularPredictor::rows_at_once(const Batch& batch) const {
  const std::int64_t tokens = device_of(*model_) == Device::cpu() ? 1 << 16 : 1 << 20;
  const auto each = static_cast<std::int64_t>(batch.count * (fitted_.columns.size() + 1));
  return std::clamp<std::int64_t>(tokens / each, 1, 4096);
}

TabularPredictor::Work TabularPredictor::plan_work(const std::vector<Batch>& all,
                                                   std::int64_t n_rows,
                                                   const ProgressHook& hook) const {
  const TabularConfig& config = model_->config();
  const auto n_columns = static_cast<std::int64_t>(fitted_.columns.size());
  double total = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    double each = TabularWork::of_query(config, n_rows, n_columns, fitted_.n_context).total();
    if (!caches_contexts() || !fitted_.contexts[b].has_value()) {
      each += TabularWork::of_context(config, fitted_.n_context, n_columns).total();
    }
    total += static_cast<double>(all[b].count) * each;
  }
  return {total, hook};
}

void TabularPredictor::add_probabilities(const Batch& batch, const Tensor& logits,
                                         double* out) const {
  const std::int64_t n_rows = logits.size(1);
  const std::int64_t n_logits = logits.size(2);
  const std::int64_t n_outputs = fitted_.n_outputs;
  const auto values = logits.to(Device::cpu()).to(DType::f64).contiguous().to_vector<double>();
  const double weight = 1 / static_cast<double>(fitted_.members.size());
  std::vector<double> odds(static_cast<std::size_t>(n_outputs));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(batch.count); ++i) {
    const Member& member = fitted_.members[batch.first + static_cast<std::size_t>(i)];
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const double* of = values.data() + (i * n_rows + row) * n_logits;
      if (!std::all_of(of, of + n_outputs, [](double logit) { return std::isfinite(logit); })) {
        fail(ErrorKind::invalid_argument, kName,
             "the model's output is not finite: its weights are too large or damaged; use another "
             "model");
      }
      const double largest = *std::max_element(of, of + n_outputs);
      double sum = 0;
      for (std::int64_t c = 0; c < n_outputs; ++c) {
        odds[static_cast<std::size_t>(c)] = std::exp(of[c] - largest);
        sum += odds[static_cast<std::size_t>(c)];
      }
      for (std::int64_t c = 0; c < n_outputs; ++c) {
        const auto rotated = static_cast<std::size_t>((c + member.shift) % n_outputs);
        out[row * n_outputs + c] += weight * odds[rotated] / sum;
      }
    }
  }
}

Tensor TabularPredictor::predict_proba(const Tensor& x, const ProgressHook& progress) {
  require_table(x);
  if (fitted_.n_outputs == 0) fail(ErrorKind::invalid_argument, kName, "call fit first");
  if (x.size(1) != fitted_.n_features) {
    fail(ErrorKind::shape_mismatch, kName,
         fmt::format("x has {} features, but fit had {}", x.size(1), fitted_.n_features));
  }
  const std::int64_t n_rows = x.size(0);
  if (fitted_.n_outputs == 1) return ones({n_rows, 1}, DType::f64);
  if (n_rows == 0) return zeros({0, fitted_.n_outputs}, DType::f64);
  const Tensor table = x.contiguous();
  Tensor out = zeros({n_rows, fitted_.n_outputs}, DType::f64);
  const std::vector<Batch> all = batches();
  Work work = plan_work(all, n_rows, progress);
  for (std::size_t b = 0; b < all.size(); ++b) {
    const TableContext context = context_of(b, all[b], work);
    const std::int64_t step = rows_at_once(all[b]);
    for (std::int64_t row = 0; row < n_rows; row += step) {
      const std::int64_t count = std::min(step, n_rows - row);
      const double* from = table.data_as<double>() + row * fitted_.n_features;
      const double flops = TabularWork::of_query(model_->config(), count,
                                                 static_cast<std::int64_t>(fitted_.columns.size()),
                                                 fitted_.n_context)
                               .total();
      const Tensor logits = model_->predict_logits(
          context, arrange(all[b], from, count),
          work.begin(static_cast<double>(all[b].count) * flops), fitted_.n_outputs);
      add_probabilities(all[b], logits, out.data_as<double>() + row * fitted_.n_outputs);
    }
  }
  return out;
}

Tensor TabularPredictor::predict_mean(const Tensor& x, const ProgressHook& progress) {
  if (!is_regression()) {
    fail(ErrorKind::invalid_argument, kName, "the model predicts classes, not numbers");
  }
  return means(predict_proba(x, progress));
}

Tensor TabularPredictor::means(const Tensor& probabilities) const {
  const std::vector<double> centres = model_->centres();
  const std::int64_t n_rows = probabilities.size(0);
  Tensor out = Tensor::empty({n_rows}, DType::f64);
  const double deviation = fitted_.target.inverse == 0 ? 0 : 1 / fitted_.target.inverse;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double* of = probabilities.data_as<double>() + row * fitted_.n_outputs;
    const double z = std::inner_product(centres.begin(), centres.end(), of, 0.0);
    out.data_as<double>()[row] = fitted_.target.mean + z * deviation;
  }
  return out;
}

std::vector<double> TabularPredictor::cumulative(const Tensor& probabilities,
                                                 const Tensor& y) const {
  std::vector<double> z = y.to_vector<double>();
  for (double& number : z) number = (number - fitted_.target.mean) * fitted_.target.inverse;
  return model_->cumulative(probabilities.to_vector<double>(), z);
}

}  // namespace causeway::models
