// Benchmark timing: warm-up, then the median of repeated runs, with events on a GPU and a clock on
// the CPU. Declared bytes and operations give rates and the fraction of the hardware's peak.
#pragma once

#include "causeway/runtime/device.h"

#include <functional>
#include <string>
#include <vector>

namespace causeway::bench {

struct Case {
  std::string name;  // "add f32 100M": the same in the peers' scripts
  double bytes = 0;  // of device memory traffic; 0 if memory is not the bound
  double flops = 0;
  std::function<void()> run;
};

struct Result {
  std::string name;
  double ms = 0;  // median
  double ms_best = 0;
  double bandwidth = 0;      // bytes per second
  double flops = 0;          // per second
  double share_of_peak = 0;  // of the device's bandwidth; 0: unknown
  double peak_gib = 0;       // peak device memory; 0: not measured
};

// Times work queued on the current stream of `device`.
Result measure(const Case& work, Device device);

// The median time of `run` by the host's clock; `repeat` runs are timed together, for work of a
// microsecond or less.
Result measure_host(const std::string& name, const std::function<void()>& run, int repeat);

// The time of one run by the host's clock.
double milliseconds_of(const std::function<void()>& run);

// The suites. Each measures its cases on `device` and reports each result immediately.
using Report = std::function<void(const Result&)>;
void run_ops(Device device, const Report& report);
void run_learning(Device device, const Report& report);
void run_tokenizer(Device device, const Report& report);
void run_prior(Device device, const Report& report);
void run_pretrain(Device device, const Report& report);
void run_jit(Device device, const Report& report);
void run_gpt(Device device, const Report& report);
void run_gpt_decode(Device device, const Report& report);
void run_checkpoint(Device device, const Report& report);
// Parts of `learning`.
void run_norms(Device device, const Report& report);
void run_attention(Device device, const Report& report);

// Throws in builds without optimisation.
void require_optimised();

}  // namespace causeway::bench
