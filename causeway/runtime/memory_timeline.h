// Who held how much memory when, recorded by the pools while the profiler is on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace causeway::profiler {

// The memory of one pool. Between two moments nothing changed.
struct MemoryTimeline {
  struct Moment {
    double ms = 0;                   // since start()
    std::vector<std::size_t> bytes;  // by name; names that came later are missing at the end
  };
  std::string pool;
  std::vector<std::string> names;
  std::vector<Moment> moments;

  std::size_t total(const Moment& moment) const;
  // The moment with the most bytes; there must be one.
  const Moment& peak() const;
};

// Those of the last recording; pools without allocations or frees are missing.
std::vector<MemoryTimeline> memory_timelines();

namespace internal {
// Called by start(): earlier changes are dropped.
void start_timelines();
// Counts recordings from 1; a pool records all it holds at its first change of each.
std::uint64_t recording();
// `name` (memory_name.h) holds this much of the pool from now on.
void record_memory(const std::string& pool, std::uint32_t name, std::size_t bytes);
}  // namespace internal

}  // namespace causeway::profiler
