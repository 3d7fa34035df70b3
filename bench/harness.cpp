#include "bench/harness.h"

#include "causeway/core/error.h"
#include "causeway/runtime/stream.h"

#include <algorithm>
#include <chrono>

namespace causeway::bench {

namespace {

constexpr int kMinRuns = 11;
constexpr int kMaxRuns = 200;
constexpr double kEnoughMs = 400;
constexpr double kSlowMs = 3000;  // slower cases are timed three times after one warm-up run

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double host_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result summarise(const Case& work, const std::vector<double>& times, Device device) {
  Result result;
  result.name = work.name;
  result.ms = median(times);
  result.ms_best = *std::min_element(times.begin(), times.end());
  result.bandwidth = work.bytes / (result.ms * 1e-3);
  result.flops = work.flops / (result.ms * 1e-3);
  const double peak = describe(device).peak_bandwidth;
  if (peak > 0) result.share_of_peak = result.bandwidth / peak;
  return result;
}

}  // namespace

void require_optimised() {
#ifndef NDEBUG
  fail(ErrorKind::invalid_argument, "bench", "this is a debug build; use the release preset");
#endif
}

Result measure(const Case& work, Device device) {
  const StreamView stream = current_stream(device);
  const double begin = host_ms();
  for (int i = 0; i < 3 && host_ms() - begin < kSlowMs / 3; ++i) {
    work.run();
    stream.synchronize();
  }
  std::vector<double> times;
  Event start(device, true);
  Event end(device, true);
  for (double total = 0;
       static_cast<int>(times.size()) < kMaxRuns &&
       (static_cast<int>(times.size()) < (total < kSlowMs ? kMinRuns : 3) || total < kEnoughMs);) {
    start.record(stream);
    work.run();
    end.record(stream);
    times.push_back(Event::milliseconds(start, end));
    total += times.back();
  }
  return summarise(work, times, device);
}

double milliseconds_of(const std::function<void()>& run) {
  const double start = host_ms();
  run();
  return host_ms() - start;
}

Result measure_host(const std::string& name, const std::function<void()>& run, int repeat) {
  for (int i = 0; i < repeat; ++i) run();
  std::vector<double> times;
  for (int round = 0; round < 21; ++round) {
    const double begin = host_ms();
    for (int i = 0; i < repeat; ++i) run();
    times.push_back((host_ms() - begin) / repeat);
  }
  return summarise({name, 0, 0, run}, times, Device::cpu());
}

}  // namespace causeway::bench
