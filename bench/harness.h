// How a benchmark is timed: warmed up, repeated until the median settles, with events on a GPU and
// a clock on the CPU; the bytes and operations it declares give the share of the hardware's limit.
#pragma once

#include "causeway/runtime/device.h"

#include <functional>
#include <string>
#include <vector>

namespace causeway::bench {

struct Case {
  std::string name;  // "add f32 100M": the same in the peers' scripts
  double bytes = 0;  // it must move through the device's memory; 0 where that is not the limit
  double flops = 0;
  std::function<void()> run;
};

struct Result {
  std::string name;
  double ms = 0;  // median
  double ms_best = 0;
  double bandwidth = 0;      // bytes a second
  double flops = 0;          // a second
  double share_of_peak = 0;  // of the device's bandwidth, where that is known
  double peak_gib = 0;       // memory taken of the device, where that was looked at
};

// Times work queued on the current stream of `device`.
Result measure(const Case& work, Device device);

// The median time of `run` by the host's clock, in milliseconds; for work of a microsecond or less
// `repeat` runs are timed together.
Result measure_host(const std::string& name, const std::function<void()>& run, int repeat);

// The suites. Each measures all its cases on `device`, telling each result as it comes.
using Report = std::function<void(const Result&)>;
void run_ops(Device device, const Report& report);
void run_learning(Device device, const Report& report);
void run_tokenizer(Device device, const Report& report);
void run_prior(Device device, const Report& report);
void run_pretrain(Device device, const Report& report);
void run_jit(Device device, const Report& report);
// Parts of `learning`.
void run_norms(Device device, const Report& report);
void run_attention(Device device, const Report& report);

// Refuses builds that are not optimised: their figures mean nothing.
void require_optimised();

}  // namespace causeway::bench
