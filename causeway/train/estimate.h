// How long a run takes at least, estimated before it starts: the floating-point operations of its
// steps at the rate of matrix products, which is measured on the device.
#pragma once

#include "causeway/train/pretrain_config.h"
#include "causeway/train/run_loop.h"

#include <cstdint>

namespace causeway::train {

struct TimeEstimate {
  std::int64_t steps = 0;       // of the run; 0: it ends by time only
  double step_flops = 0;        // of one rank, mean over the steps
  double flops_per_second = 0;  // of a large matrix product on the device
  double seconds = 0;           // of the run, at least
};

// Runs matrix products for a fraction of a second.
TimeEstimate estimate_time(const LoopConfig& run, double step_flops, Device device, DType dtype);

// The floating-point operations of a step on one of `n_ranks` ranks, for datasets of the mean
// number of features; the mean over `steps` steps and their stages.
double mean_step_flops(const PretrainConfig& config, std::int64_t steps, int n_ranks);

}  // namespace causeway::train
