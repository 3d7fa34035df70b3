#include "causeway/models/predictor.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/kernels/matmul/bf16_product_cpu.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace causeway::models {

namespace {

// Members whose contexts need less run as one batch on a GPU.
constexpr std::size_t kTogether = std::size_t{512} << 20;

Device device_of(const TabularTransformer& model) { return model.parameters().front().device(); }

}  // namespace

const char* to_string(Precision precision) { return precision == Precision::f32 ? "f32" : "auto"; }

Precision parse_precision(const std::string& name) {
  for (const Precision each : {Precision::automatic, Precision::f32}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::invalid_argument, kTabularPredictor,
       fmt::format("precision {}: expected auto or f32", shown(name)));
}

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
  std::int64_t tokens_per_row = 0;
  for (const EnsembleMember& member : fitted_.members) {
    tokens_per_row += config.tokens(member.n_inputs());
  }
  const std::int64_t tokens = (fitted_.n_context + config.thinking) * tokens_per_row;
  return static_cast<std::size_t>(tokens * config.layers * config.width * 2) *
         size_of(model_->parameters().front().dtype());
}

bool TabularPredictor::can_cache() const {
  const std::size_t needed = context_bytes();
  if (options_.cache_bytes.has_value()) return needed <= *options_.cache_bytes;
  constexpr std::size_t kOnCpu = std::size_t{4} << 30;
  const Device device = device_of(*model_);
  if (device.is_cpu() || needed <= kTogether) return needed <= kOnCpu;
  return needed <= (describe(device).memory_free + pool_of(device).stats().cached) / 4;
}

std::vector<TabularPredictor::Batch> TabularPredictor::batches() const {
  // Members together fill a GPU. On a CPU members run one by one, which needs less memory.
  const bool together = device_of(*model_).is_cuda() && context_bytes() <= kTogether;
  std::vector<Batch> made;
  for (std::size_t i = 0; i < fitted_.members.size(); ++i) {
    const std::int64_t n_columns = fitted_.members[i].n_inputs();
    if (together && i > 0 && made.back().n_columns == n_columns) {
      ++made.back().count;
    } else {
      made.push_back({i, 1, n_columns});
    }
  }
  return made;
}

Tensor TabularPredictor::arrange(const Batch& batch, const double* x,
                                 std::optional<std::span<const std::int64_t>> given) const {
  const std::int64_t n_rows = given.has_value() ? std::ssize(*given) : fitted_.n_context;
  const Tensor made = Tensor::empty(
      {static_cast<std::int64_t>(batch.count), n_rows, batch.n_columns}, DType::f32, Device::cpu());
  auto* to = made.data_as<float>();
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const EnsembleMember& member = fitted_.members[i];
    const std::span<const std::int64_t> rows = given.value_or(member.rows);
    if (member.components != nullptr) {
      const auto z = member.components->project(x, fitted_.n_features, rows);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        for (const std::int64_t k : member.component_order) {
          *to++ = static_cast<float>(
              z[row * member.component_order.size() + static_cast<std::size_t>(k)]);
        }
      }
      continue;
    }
    const std::vector<ColumnTransform>& transforms = fitted_.transforms.at(member.transform);
    for (const std::int64_t from : rows) {
      for (const std::int64_t column : member.columns) {
        const auto at = static_cast<std::size_t>(column);
        const double value = x[from * fitted_.n_features + fitted_.positions[at]];
        *to++ = static_cast<float>(transforms[at](value));
      }
    }
  }
  return made.to(device_of(*model_));
}

std::vector<double> TabularPredictor::context_targets(const EnsembleMember& member) const {
  const bool is_residual = member.target_transform == TargetTransform::residual;
  const double* y = is_residual ? fitted_.ridge->residuals().data() : fitted_.y.data_as<double>();
  std::vector<double> made;
  for (const std::int64_t row : member.rows) {
    made.push_back(is_regression()
                       ? fitted_.bins.read(member.target_transform, y[row])
                       : static_cast<double>(member.codes[static_cast<std::size_t>(y[row])]));
  }
  return made;
}

TableContext TabularPredictor::make_context(const Batch& batch,
                                            const ProgressHook& progress) const {
  const Device device = device_of(*model_);
  const auto n_tables = static_cast<std::int64_t>(batch.count);
  std::vector<float> y;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    const EnsembleMember& member = fitted_.members[i];
    for (const double target : context_targets(member)) y.push_back(static_cast<float>(target));
    sizes.insert(sizes.end(), {fitted_.n_context, batch.n_columns, fitted_.n_context});
  }
  return model_->encode_context({arrange(batch, fitted_.x.data_as<double>(), {}),
                                 Tensor::from<float>(y, {n_tables, fitted_.n_context}, device),
                                 Tensor::from<std::int64_t>(sizes, {n_tables, 3}, device)},
                                progress);
}

TableContext TabularPredictor::context_of(std::size_t number, const Batch& batch, Work& work) {
  const auto flops =
      static_cast<double>(batch.count) *
      TabularWork::of_context(model_->config(), fitted_.n_context, batch.n_columns).total();
  if (!fitted_.caches) return make_context(batch, work.begin(flops));
  const std::scoped_lock lock(*lock_);
  std::optional<TableContext>& kept = fitted_.contexts[number];
  if (!kept.has_value()) kept = make_context(batch, work.begin(flops));
  return *kept;
}

std::int64_t TabularPredictor::rows_at_once(const Batch& batch) const {
  const std::int64_t tokens = device_of(*model_) == Device::cpu() ? 1 << 16 : 1 << 20;
  const auto each = static_cast<std::int64_t>(batch.count) * (batch.n_columns + 1);
  return std::clamp<std::int64_t>(tokens / each, 1, 4096);
}

TabularPredictor::Distinct TabularPredictor::distinct_rows(const Batch& batch,
                                                           const Tensor& table) const {
  std::set<std::int64_t> positions;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    for (const std::int64_t column : fitted_.members[i].columns) {
      positions.insert(fitted_.positions[static_cast<std::size_t>(column)]);
    }
  }
  const std::vector<std::int64_t> read(positions.begin(), positions.end());
  const auto bits = [&](std::int64_t row, std::int64_t position) {
    return std::bit_cast<std::uint64_t>(
        table.data_as<double>()[row * fitted_.n_features + position]);
  };
  const auto hash = [&](std::int64_t row) {
    std::uint64_t made = 0;
    for (const std::int64_t position : read) {
      made = (made ^ bits(row, position)) * 0x9E3779B97F4A7C15;
      made ^= made >> 32;
    }
    return static_cast<std::size_t>(made);
  };
  const auto is_equal = [&](std::int64_t a, std::int64_t b) {
    return std::ranges::all_of(
        read, [&](std::int64_t position) { return bits(a, position) == bits(b, position); });
  };
  // Rows, and their places among the distinct ones.
  std::unordered_map<std::int64_t, std::int64_t, decltype(hash), decltype(is_equal)> found(
      static_cast<std::size_t>(table.size(0)), hash, is_equal);
  Distinct made;
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const auto [entry, is_new] = found.try_emplace(row, std::ssize(made.rows));
    if (is_new) made.rows.push_back(row);
    made.places.push_back(entry->second);
  }
  return made;
}

TabularPredictor::Work TabularPredictor::plan_work(const std::vector<Batch>& all,
                                                   const std::vector<Distinct>& rows,
                                                   const ProgressHook& hook) const {
  const TabularConfig& config = model_->config();
  double total = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    const std::int64_t n_columns = all[b].n_columns;
    const std::int64_t n_rows = std::ssize(rows[b].rows);
    double each = TabularWork::of_query(config, n_rows, n_columns, fitted_.n_context).total();
    if (!fitted_.caches || !fitted_.contexts[b].has_value()) {
      each += TabularWork::of_context(config, fitted_.n_context, n_columns).total();
    }
    total += static_cast<double>(all[b].count) * each;
  }
  return {total, hook};
}

void TabularPredictor::require_query(const Tensor& x) const {
  require_table(x);
  if (fitted_.n_outputs == 0)
    fail(ErrorKind::invalid_argument, kTabularPredictor, "call fit first");
  if (x.size(1) != fitted_.n_features) {
    fail(ErrorKind::shape_mismatch, kTabularPredictor,
         fmt::format("x has {} features, but fit had {}", x.size(1), fitted_.n_features));
  }
}

Tensor TabularPredictor::run_members(const Tensor& x, std::int64_t width,
                                     const ProgressHook& progress, const Run& run) {
  const kernels::cpu::Bf16Products products(options_.precision == Precision::automatic);
  const std::int64_t n_rows = x.size(0);
  const auto n_members = static_cast<std::int64_t>(fitted_.members.size());
  const Tensor table = read(x);
  Tensor out = Tensor::empty({n_rows, n_members, width}, DType::f32);
  const std::vector<Batch> all = batches();
  std::vector<Distinct> distinct;
  for (const Batch& batch : all) distinct.push_back(distinct_rows(batch, table));
  Work work = plan_work(all, distinct, progress);
  for (std::size_t b = 0; b < all.size() && n_rows > 0; ++b) {
    const TableContext context = context_of(b, all[b], work);
    const auto first = static_cast<std::int64_t>(all[b].first);
    const auto count = static_cast<std::int64_t>(all[b].count);
    const std::span rows(distinct[b].rows);
    const std::int64_t step = rows_at_once(all[b]);
    const Tensor of_rows = Tensor::empty({std::ssize(rows), count, width}, DType::f32);
    for (std::int64_t row = 0; row < std::ssize(rows); row += step) {
      const std::int64_t n = std::min(step, std::ssize(rows) - row);
      const double flops =
          TabularWork::of_query(model_->config(), n, all[b].n_columns, fitted_.n_context).total();
      const auto here = rows.subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(n));
      const Tensor made = run(context, arrange(all[b], table.data_as<double>(), here),
                              work.begin(static_cast<double>(count) * flops));
      of_rows.slice(0, row, row + n)
          .copy_from(made.to(Device::cpu()).to(DType::f32).transpose(0, 1));
    }
    const Tensor places = Tensor::from<std::int64_t>(distinct[b].places, {n_rows});
    out.slice(1, first, first + count).copy_from(index_select(of_rows, 0, places));
  }
  return out;
}

Tensor TabularPredictor::member_logits(const Tensor& x, const ProgressHook& progress) {
  const bool is_native = model_->config().decoder == TabularDecoder::retrieval;
  const std::int64_t n = is_native ? fitted_.n_outputs : model_->config().outputs();
  return run_members(
      x, n, progress,
      [&](const TableContext& context, const Tensor& rows, const ProgressHook& hook) {
        return model_->predict_logits(context, rows, hook, n);
      });
}

std::vector<double> TabularPredictor::linear_fit(const Tensor& x) const {
  return fitted_.ridge.has_value() ? fitted_.ridge->predict(read(x)) : std::vector<double>();
}

Tensor TabularPredictor::combine(const Tensor& logits, std::span<const double> fit,
                                 double temperature) const {
  if (is_regression()) return distribution(logits, fit, temperature).probabilities;
  return combine_members(logits, fitted_.members, fitted_.n_outputs,
                         {options_.average, temperature, fitted_.member_weights,
                          fitted_.frequencies, fitted_.class_weight});
}

TargetDistribution TabularPredictor::distribution(const Tensor& logits, std::span<const double> fit,
                                                  double temperature) const {
  const std::size_t n_members = fitted_.members.size();
  const double equal = 1 / static_cast<double>(n_members);
  const bool has_linear = fitted_.member_weights.size() > n_members;
  std::vector<TargetBins::Part> parts;
  for (const TargetTransform transform : fitted_.bins.transforms()) {
    std::vector<EnsembleMember> members;
    std::vector<std::int64_t> numbers;
    std::vector<double> weights;
    for (std::size_t i = 0; i < n_members; ++i) {
      if (fitted_.members[i].target_transform != transform) continue;
      members.push_back(fitted_.members[i]);
      numbers.push_back(static_cast<std::int64_t>(i));
      weights.push_back(fitted_.member_weights.empty() ? equal : fitted_.member_weights[i]);
    }
    // The weight of the linear fit goes to the distribution of residuals, which moves to the fit.
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    double all = sum;
    if (has_linear && transform == TargetTransform::residual) all += fitted_.member_weights.back();
    if (all == 0) continue;
    for (double& weight : weights) {
      weight = sum > 0 ? weight / sum : 1 / static_cast<double>(weights.size());
    }
    const Tensor of_members =
        index_select(logits, 1, Tensor::from<std::int64_t>(numbers, {std::ssize(numbers)}));
    parts.push_back({transform,
                     combine_members(of_members, members, fitted_.n_outputs,
                                     {options_.average, temperature, weights, {}, {}}),
                     all, sum / all});
  }
  return fitted_.bins.join(parts, fit);
}

Tensor TabularPredictor::of_member(const Tensor& logits, std::size_t i, double temperature) const {
  const auto at = static_cast<std::int64_t>(i);
  return combine_members(logits.slice(1, at, at + 1).contiguous(), {fitted_.members[i]},
                         fitted_.n_outputs,
                         {options_.average, temperature, {}, fitted_.frequencies, {}});
}

Tensor TabularPredictor::predict_proba(const Tensor& x, const ProgressHook& progress) {
  require_query(x);
  if (fitted_.n_outputs == 1) return ones({x.size(0), 1}, DType::f64);
  return combine(member_logits(x, progress), linear_fit(x), fitted_.temperature);
}

TargetDistribution TabularPredictor::predict_distribution(const Tensor& x,
                                                          const ProgressHook& progress) {
  if (!is_regression()) {
    fail(ErrorKind::invalid_argument, kTabularPredictor, "the model predicts classes, not numbers");
  }
  require_query(x);
  return distribution(member_logits(x, progress), linear_fit(x), fitted_.temperature);
}

Tensor TabularPredictor::predict_mean(const Tensor& x, const ProgressHook& progress) {
  return predict_distribution(x, progress).means;
}

Tensor TabularPredictor::embed(const Tensor& x, const ProgressHook& progress) {
  require_query(x);
  const Tensor all =
      run_members(x, model_->config().width, progress,
                  [&](const TableContext& context, const Tensor& rows, const ProgressHook& hook) {
                    return model_->embed(context, rows, hook);
                  });
  return mean(all.to(DType::f64), {1});
}

Tensor TabularPredictor::importance(const Tensor& x,
                                    const std::vector<std::vector<std::int64_t>>& groups,
                                    const ProgressHook& progress) {
  require_query(x);
  constexpr std::int64_t kMostCells = std::int64_t{1} << 23;  // of a batch of copies
  const auto n_copies = static_cast<std::int64_t>(groups.size()) + 1;
  const std::int64_t step = std::max<std::int64_t>(kMostCells / (n_copies * fitted_.n_features), 1);
  Tensor out = zeros({n_copies - 1}, DType::f64);
  for (std::int64_t row = 0; row < x.size(0); row += step) {
    const Tensor rows = x.slice(0, row, std::min(row + step, x.size(0)));
    // The first copy is whole; copy k + 1 lacks the columns of group k.
    const Tensor copies = rows.expand({n_copies, rows.size(0), x.size(1)}).contiguous().clone();
    for (std::size_t k = 0; k < groups.size(); ++k) {
      for (const std::int64_t column : groups[k]) {
        copies.select(0, static_cast<std::int64_t>(k) + 1)
            .select(1, column)
            .copy_from(full({}, std::nan(""), DType::f64));
      }
    }
    const auto part = [&](double done) {
      const auto n_done = static_cast<double>(row) + done * static_cast<double>(rows.size(0));
      progress(n_done / static_cast<double>(x.size(0)));
    };
    const Tensor p = predict_proba(copies.reshape({-1, x.size(1)}),
                                   progress ? ProgressHook(part) : ProgressHook());
    const std::int64_t n = rows.size(0) * p.size(1);
    const auto* of = p.data_as<double>();
    for (std::int64_t k = 0; k + 1 < n_copies; ++k) {
      const auto* without = of + (k + 1) * n;
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        if (of[i] > 0) sum += of[i] * std::log(of[i] / std::max(without[i], 1e-12));
      }
      out.data_as<double>()[k] += sum / static_cast<double>(x.size(0));
    }
  }
  return out;
}

}  // namespace causeway::models
