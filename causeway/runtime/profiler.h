// Times kernels and transfers by name on every device: with events on a CUDA stream, with a clock
// on the CPU. Records the memory of pools as well (memory_timeline.h). Off by default; a scope then
// costs one load and a branch.
#pragma once

#include "causeway/runtime/stream.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace causeway::profiler {

enum class Kind : std::uint8_t { kernel, transfer };

// Totals over all scopes with one name and device.
struct Entry {
  std::string name;
  Kind kind = Kind::kernel;
  Device device;
  std::uint64_t count = 0;
  double total_ms = 0;
  double mean_ms = 0;
  double bytes = 0;          // moved, as declared by the caller
  double bandwidth = 0;      // bytes per second
  double share_of_peak = 0;  // of the device's memory bandwidth; 0 if unknown
};

namespace internal {
extern std::atomic<bool> on;
}

inline bool enabled() { return internal::on.load(std::memory_order_relaxed); }

// start() clears the records and starts recording; stop() waits for the devices and ends it.
void start();
void stop();

// Entries of the last recording, longest total first.
std::vector<Entry> report();
// {"entries": [...], "wall_ms": ..., "memory": {pool: peak and who held it}}
std::string report_json();
// Chrome's trace event format: opens in Perfetto and chrome://tracing. The memory of each pool is a
// counter.
std::string trace_json();

// Times the work queued on `stream` during its lifetime, and marks it as an NVTX range. Nothing is
// recorded inside a graph capture.
class Scope {
 public:
  Scope(const std::string& name, Kind kind, StreamView stream, double bytes);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::size_t record_;
  StreamView stream_;
};

}  // namespace causeway::profiler
