#include "causeway/train/gpt_memory_plan.h"

#include "causeway/autograd/linear_cross_entropy.h"
#include "causeway/core/advice.h"
#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/train/memory_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::train {

namespace {

using models::Recompute;

// The forward pass of the validation loss, and the key-value cache of a sample. On a GPU their
// memory is not that of the step's graph.
std::size_t evaluation_bytes(const GptTrainConfig& config, Device device, std::int64_t sequences) {
  const models::GptConfig& model = config.model;
  const std::int64_t n_tokens = sequences * model.length;
  const std::int64_t vocabulary = model.padded_vocabulary();
  const std::int64_t rows =
      std::min(n_tokens, autograd::rows_per_chunk(vocabulary, config.dtype, device));
  const std::int64_t activations = n_tokens * (5 * model.width + 3 * model.n_hidden());
  const std::int64_t cache = model.layers * 2 * model.length * model.width;
  return static_cast<std::size_t>(rows * vocabulary + activations + cache) * size_of(config.dtype);
}

std::string sequences(std::int64_t count) {
  return count == 1 ? "one sequence" : fmt::format("{} sequences", count);
}

}  // namespace

GptMemoryPlan::GptMemoryPlan(const GptTrainConfig& config, Device device, std::int64_t share,
                             int n_ranks, std::size_t live, std::size_t budget)
    : config_(config),
      device_(device),
      share_(share),
      n_ranks_(n_ranks),
      live_(live),
      budget_(budget) {
  choose(planned_bytes(budget));
  if (!fits_) choose(budget);
  if (fits_) return;
  fail(
      ErrorKind::out_of_memory, "gpt train",
      fmt::format("needs {} of {}, even with {} per pass and everything in a layer computed again; "
                  "use {} or a smaller model",
                  format_bytes(needed()), format_bytes(budget_), sequences(micro_batch_),
                  micro_batch_ == 1
                      ? advice("a smaller --length, more --memory", "a smaller length, more memory")
                      : advice("a smaller --micro-batch", "a smaller micro_batch")));
}

// The fewest passes that fit, or else the smallest.
void GptMemoryPlan::choose(std::size_t limit) {
  for (const Recompute level : {Recompute::none, Recompute::mlp, Recompute::layers}) {
    if (level < config_.model.recompute) continue;
    recompute_ = level;
    for (std::int64_t n_parts = 1; n_parts <= share_; ++n_parts) {
      const std::int64_t size = share_ / n_parts;
      const bool is_allowed = config_.micro_batch == 0 || size == config_.micro_batch;
      if (share_ % n_parts != 0 || !is_allowed) continue;
      micro_batch_ = size;
      fits_ = needed() <= limit;
      if (fits_) return;
    }
  }
}

std::size_t GptMemoryPlan::resident_bytes(std::int64_t micro_batch) const {
  const std::size_t wide = config_.model.weight_bytes(DType::f32);
  const auto n_ranks = static_cast<std::size_t>(n_ranks_);
  std::size_t bytes = live_ + config_.model.weight_bytes(config_.dtype);
  bytes += 2 * wide / n_ranks;                               // moments
  if (size_of(config_.dtype) == 2) bytes += wide / n_ranks;  // master weights
  // f32 sums of gradients: over passes, or over ranks in buckets.
  if (micro_batch < share_ || n_ranks_ > 1) bytes += wide;
  if (config_.muon) bytes += 2 * wide / n_ranks;  // matrices of the iteration
  bytes += static_cast<std::size_t>(4 * share_ * config_.model.length) * sizeof(std::int64_t);
  if (device_.is_cuda()) bytes += evaluation_bytes(config_, device_, micro_batch);
  return bytes;
}

std::size_t GptMemoryPlan::pass_bytes(std::int64_t micro_batch, Recompute recompute) const {
  models::GptConfig model = config_.model;
  model.recompute = recompute;
  const std::size_t bytes = model.step_bytes(micro_batch, model.length, config_.dtype, device_);
  const double growth = device_.is_cuda() ? MemoryPlan::kSideStreamGrowth : 1;
  return static_cast<std::size_t>(growth * static_cast<double>(bytes));
}

std::string GptMemoryPlan::summary() const {
  std::string text = fmt::format("needs {} of {}", format_bytes(needed()), format_bytes(budget_));
  if (micro_batch_ < share_) {
    text += fmt::format("; batches are cut into {} micro-batches of {}", share_ / micro_batch_,
                        sequences(micro_batch_));
  }
  if (recompute_ != config_.model.recompute) {
    text += fmt::format("; {} are computed again in the backward pass",
                        recompute_ == Recompute::mlp ? "activations of the MLPs" : "layers");
  }
  return text;
}

}  // namespace causeway::train
