// The memory of a pre-training run, computed before its first step: what it needs, and into how
// many micro-batches a batch is cut so that it fits.
#pragma once

#include "causeway/train/pretrain_config.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace causeway::train {

class MemoryPlan {
 public:
  // On a GPU a step needs more than TabularConfig::step_bytes: the side stream of the backward pass
  // keeps what it reads.
  static constexpr double kSideStreamGrowth = 1.15;

  // `tables` datasets per step on this rank; `n_weights` parameters. Of the `budget`, the pool of
  // `device` has `live` bytes in use already, such as the weights.
  MemoryPlan(const PretrainConfig& config, Device device, std::int64_t tables,
             std::int64_t n_weights, std::size_t live, std::size_t budget);

  std::size_t budget() const { return budget_; }
  // Bytes besides the activations of a step: weights, gradients, optimizer, averages, tables,
  // prior.
  std::size_t resident() const { return resident_; }
  // Bytes of the activations of the largest step, or of one of its micro-batches.
  std::size_t largest_step() const;
  std::size_t needed() const { return resident_ + largest_step(); }

  // How a step with tables of this size is run, so that it fits: in as few micro-batches as
  // possible. If a single dataset is too large, layers are computed again in the backward pass.
  struct Cut {
    std::int64_t n_parts = 1;
    bool recomputes = false;

    friend bool operator==(const Cut&, const Cut&) = default;
  };
  Cut cut(std::int64_t rows, std::int64_t features) const;
  Cut largest_cut() const { return cut(largest_rows_, config_.prior.features.high); }

  // After a step ran out of memory: plans for larger steps, and so for smaller cuts. False if the
  // largest batches are cut as small as possible already.
  bool cut_smaller();

  // "needs 41.0 GiB of 139.0 GiB", and how batches are cut.
  std::string summary() const;

 private:
  std::size_t part_bytes(const Cut& cut, std::int64_t rows, std::int64_t features) const;

  PretrainConfig config_;
  std::int64_t tables_;
  std::int64_t largest_rows_ = 0;
  std::size_t resident_ = 0;
  std::size_t budget_;
  double growth_;  // of the estimate
};

// The part of a budget that is planned: blocks are rounded up, and free memory is in pieces.
std::size_t planned_bytes(std::size_t budget);

// The memory that a run may use on a device: the limit of its pool, or else what is free.
std::size_t memory_budget(Device device);

}  // namespace causeway::train
