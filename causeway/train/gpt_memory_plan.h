// The memory of GPT training, computed before its first step: what it needs, how many sequences a
// pass has, and what the backward pass computes again, so that it fits.
#pragma once

#include "causeway/train/gpt_config.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace causeway::train {

class GptMemoryPlan {
 public:
  // `share` sequences per step on each of `n_ranks` ranks. Of the `budget`, the pool of `device`
  // has `live` bytes in use already. As few passes as possible; if a single sequence is too large,
  // more is computed again. Settings of the configuration are kept: its micro_batch, and at least
  // its recompute. Throws out_of_memory if nothing fits.
  GptMemoryPlan(const GptTrainConfig& config, Device device, std::int64_t share, int n_ranks,
                std::size_t live, std::size_t budget);

  std::int64_t micro_batch() const { return micro_batch_; }  // sequences per pass
  models::Recompute recompute() const { return recompute_; }

  std::size_t budget() const { return budget_; }
  // Bytes besides a step: weights, optimizer, sums of gradients, evaluation.
  std::size_t resident() const { return resident_bytes(micro_batch_); }
  // Bytes of a pass: activations and gradients.
  std::size_t step() const { return pass_bytes(micro_batch_, recompute_); }
  std::size_t needed() const { return resident() + step(); }

  // "needs 41.0 GiB of 139.0 GiB", and how batches are cut.
  std::string summary() const;

 private:
  void choose(std::size_t limit);
  std::size_t resident_bytes(std::int64_t micro_batch) const;
  std::size_t pass_bytes(std::int64_t micro_batch, models::Recompute recompute) const;

  GptTrainConfig config_;
  Device device_;
  std::int64_t share_;
  int n_ranks_;
  std::size_t live_;
  std::size_t budget_;
  std::int64_t micro_batch_ = 0;
  models::Recompute recompute_ = models::Recompute::none;
  bool fits_ = false;
};

}  // namespace causeway::train
