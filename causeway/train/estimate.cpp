#include "causeway/train/estimate.h"

#include "causeway/runtime/stream.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/matmul.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace causeway::train {

namespace {

// Of the fastest of several products, since other programs may run too.
double product_rate(Device device, DType dtype) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr double kSeconds = 0.2;
  const std::int64_t n = device.is_cuda() ? 4096 : 1024;
  const Tensor a = ones({n, n}, dtype, device);
  matmul(a, a);  // opens libraries
  synchronize(device);
  const Clock::time_point begin = Clock::now();
  double fastest = std::numeric_limits<double>::infinity();
  for (Clock::time_point start = begin; Seconds(start - begin).count() < kSeconds;) {
    matmul(a, a);
    synchronize(device);
    const Clock::time_point end = Clock::now();
    fastest = std::min(fastest, Seconds(end - start).count());
    start = end;
  }
  return 2 * std::pow(static_cast<double>(n), 3) / fastest;
}

double mean_of(const prior::CountRange& range) {
  const double low = range.low;
  const double high = range.high;
  if (range.logarithmic && low < high) return (high - low) / std::log(high / low);
  return (low + high) / 2;
}

}  // namespace

TimeEstimate estimate_time(const LoopConfig& run, double step_flops, Device device, DType dtype) {
  TimeEstimate estimate;
  estimate.steps = run.steps;
  estimate.step_flops = step_flops;
  estimate.flops_per_second = product_rate(device, dtype);
  estimate.seconds = static_cast<double>(run.steps) * step_flops / estimate.flops_per_second;
  if (run.steps == 0) estimate.seconds = run.seconds;
  if (run.seconds > 0) estimate.seconds = std::min(estimate.seconds, run.seconds);
  return estimate;
}

double mean_step_flops(const PretrainConfig& config, std::int64_t steps, int n_ranks) {
  const auto features = static_cast<std::int64_t>(std::lround(mean_of(config.prior.features)));
  const auto flops = [&](int rows) {
    return config.model.step_flops(config.batch / n_ranks, rows, features);
  };
  int rows = config.prior.rows.high;
  if (steps == 0) return flops(config.stages.empty() ? rows : config.stages.back().rows);
  double sum = 0;
  std::int64_t done = 0;
  for (const RowStage& stage : config.stages) {
    const std::int64_t until = std::min<std::int64_t>(stage.step, steps);
    sum += static_cast<double>(until - done) * flops(rows);
    done = until;
    rows = stage.rows;
  }
  sum += static_cast<double>(steps - done) * flops(rows);
  return sum / static_cast<double>(steps);
}

}  // namespace causeway::train
