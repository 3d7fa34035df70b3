// Times kernels and transfers by name, on every device: events on a CUDA stream, a clock on the
// CPU. Off by default, when a scope costs one load and a branch.
#pragma once

#include "causeway/runtime/stream.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace causeway::profiler {

enum class Kind : std::uint8_t { kernel, transfer };

// What all scopes of one name and device took together.
struct Entry {
  std::string name;
  Kind kind = Kind::kernel;
  Device device;
  std::uint64_t count = 0;
  double total_ms = 0;
  double mean_ms = 0;
  double bytes = 0;          // moved, as the caller declared them
  double bandwidth = 0;      // bytes a second
  double share_of_peak = 0;  // of the device's memory bandwidth; 0 where that is unknown
};

namespace internal {
extern std::atomic<bool> on;
}

inline bool enabled() { return internal::on.load(std::memory_order_relaxed); }

// Forgets what was recorded and starts; stop() waits for the devices and ends it.
void start();
void stop();

// Entries of the last start to stop, longest total first.
std::vector<Entry> report();
// {"entries": [...], "wall_ms": ...}
std::string report_json();
// Chrome's trace event format: opens in Perfetto and chrome://tracing.
std::string trace_json();

// Times what is queued on `stream` between its construction and its end, and marks it as an NVTX
// range. Nothing is recorded inside a graph capture.
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
