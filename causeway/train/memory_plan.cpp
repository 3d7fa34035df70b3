#include "causeway/train/memory_plan.h"

#include "causeway/core/environment.h"
#include "causeway/prior/prior.h"
#include "causeway/runtime/pool.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::train {

namespace {

// Bytes of the tables of `n_steps` steps of the largest size.
std::size_t table_bytes(std::int64_t tables, std::int64_t rows, std::int64_t features,
                        std::int64_t n_steps) {
  return static_cast<std::size_t>(n_steps * tables * rows * (features + 1)) * sizeof(float);
}

// The steps of a graph read copies of their tables: one for each width.
std::size_t graph_input_bytes(const PretrainConfig& config, std::int64_t tables,
                              std::int64_t rows) {
  std::size_t bytes = 0;
  int before = 0;
  for (int features = config.prior.features.low; features <= config.prior.features.high;
       ++features) {
    const int width = padded_width(features, config.prior.features.high);
    if (width != before) bytes += table_bytes(tables, rows, width, 1);
    before = width;
  }
  return bytes;
}

}  // namespace

MemoryPlan::MemoryPlan(const PretrainConfig& config, Device device, std::int64_t tables,
                       std::int64_t n_weights, std::size_t live, std::size_t budget)
    : config_(config),
      tables_(tables),
      budget_(budget),
      growth_(device.is_cuda() ? kSideStreamGrowth : 1) {
  const bool stages_apply_at_once = !config.stages.empty() && config.stages.front().step == 0;
  if (!stages_apply_at_once) largest_rows_ = config.prior.rows.high;
  for (const RowStage& stage : config.stages) {
    largest_rows_ = std::max<std::int64_t>(largest_rows_, stage.rows);
  }
  const auto count = static_cast<std::size_t>(n_weights);
  const std::size_t size = size_of(config.dtype);
  const std::size_t gradients = count * (size + sizeof(float));
  // Snapshots, and the copies of weights and master weights while the model is saved.
  const std::size_t averages =
      count * (size * static_cast<std::size_t>(config.average + 1) + 2 * sizeof(float));
  const std::size_t optimizer = 4 * count * sizeof(float);  // temporaries of an update
  const std::int64_t features = config.prior.features.high;
  resident_ = live + gradients + averages + optimizer +
              table_bytes(tables, largest_rows_, features, 2 * config.window_steps);
  if (device.is_cuda()) resident_ += graph_input_bytes(config, tables, largest_rows_);
  if (!config.batches.empty()) return;
  prior::PriorConfig largest = config.prior;
  largest.rows = {static_cast<int>(largest_rows_), static_cast<int>(largest_rows_)};
  resident_ += prior::Prior(largest, device).scratch_bytes(tables * config.window_steps);
}

std::size_t MemoryPlan::part_bytes(const Cut& cut, std::int64_t rows, std::int64_t features) const {
  const std::int64_t part = (tables_ + cut.n_parts - 1) / cut.n_parts;
  const std::size_t bytes =
      config_.model.step_bytes(part, rows, features, config_.dtype, cut.recomputes);
  return static_cast<std::size_t>(growth_ * static_cast<double>(bytes));
}

MemoryPlan::Cut MemoryPlan::cut(std::int64_t rows, std::int64_t features) const {
  const std::size_t planned = planned_bytes(budget_);
  const auto fits = [&](const Cut& cut) {
    return resident_ + part_bytes(cut, rows, features) <= planned;
  };
  for (const bool recomputes : {false, true}) {
    if (!fits({tables_, recomputes})) continue;
    std::int64_t n_parts = tables_;  // fits; fewer parts do not below `most`
    for (std::int64_t most = 0; most + 1 < n_parts;) {
      const std::int64_t middle = (most + n_parts) / 2;
      (fits({middle, recomputes}) ? n_parts : most) = middle;
    }
    return {n_parts, recomputes};
  }
  return {tables_, true};
}

bool MemoryPlan::cut_smaller() {
  const Cut before = largest_cut();
  if (before.n_parts == tables_ && before.recomputes) return false;
  while (largest_cut() == before) growth_ *= 1.25;
  return true;
}

std::size_t MemoryPlan::largest_step() const {
  return part_bytes(largest_cut(), largest_rows_, config_.prior.features.high);
}

std::string MemoryPlan::summary() const {
  std::string text = fmt::format("needs {} of {}", format_bytes(needed()), format_bytes(budget_));
  const Cut cut = largest_cut();
  if (cut.n_parts > 1) {
    text += fmt::format("; the largest batches are cut into {} micro-batches", cut.n_parts);
  }
  if (cut.recomputes) text += ", whose layers are computed again in the backward pass";
  if (needed() > budget_) text += "; it may run out of memory, even with one dataset at a time";
  return text;
}

std::size_t planned_bytes(std::size_t budget) {
  constexpr double kPlanned = 0.92;
  return static_cast<std::size_t>(kPlanned * static_cast<double>(budget));
}

std::size_t memory_budget(Device device) {
  const MemoryStats stats = pool_of(device).stats();
  const std::size_t free = describe(device).memory_free + stats.current + stats.cached;
  return stats.limit > 0 ? std::min(stats.limit, free) : free;
}

}  // namespace causeway::train
