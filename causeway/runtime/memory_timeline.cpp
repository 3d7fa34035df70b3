#include "causeway/runtime/memory_timeline.h"

#include "causeway/runtime/memory_name.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>

namespace causeway::profiler {

namespace {

using Clock = std::chrono::steady_clock;

struct Change {
  double ms = 0;
  std::uint32_t name = 0;
  std::size_t bytes = 0;
};

struct Changes {
  std::mutex mutex;
  Clock::time_point begin;
  std::map<std::string, std::vector<Change>> by_pool;
};

Changes& changes() {
  static auto* instance = new Changes();
  return *instance;
}

std::atomic<std::uint64_t> n_recordings{0};

MemoryTimeline timeline_of(const std::string& pool, const std::vector<Change>& list) {
  MemoryTimeline made;
  made.pool = pool;
  std::map<std::uint32_t, std::size_t> places;
  std::vector<std::size_t> held;
  for (const Change& change : list) {
    const auto [place, fresh] = places.try_emplace(change.name, made.names.size());
    if (fresh) {
      made.names.push_back(memory_name::name(change.name));
      held.push_back(0);
    }
    held[place->second] = change.bytes;
    made.moments.push_back({change.ms, held});
  }
  return made;
}

}  // namespace

std::size_t MemoryTimeline::total(const Moment& moment) const {
  return std::accumulate(moment.bytes.begin(), moment.bytes.end(), std::size_t{0});
}

const MemoryTimeline::Moment& MemoryTimeline::peak() const {
  return *std::max_element(moments.begin(), moments.end(),
                           [&](const Moment& a, const Moment& b) { return total(a) < total(b); });
}

std::vector<MemoryTimeline> memory_timelines() {
  Changes& all = changes();
  const std::lock_guard lock(all.mutex);
  std::vector<MemoryTimeline> timelines;
  for (const auto& [pool, list] : all.by_pool) timelines.push_back(timeline_of(pool, list));
  return timelines;
}

namespace internal {

void start_timelines() {
  Changes& all = changes();
  const std::lock_guard lock(all.mutex);
  all.by_pool.clear();
  all.begin = Clock::now();
  ++n_recordings;
}

std::uint64_t recording() { return n_recordings; }

void record_memory(const std::string& pool, std::uint32_t name, std::size_t bytes) {
  Changes& all = changes();
  const std::lock_guard lock(all.mutex);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - all.begin).count();
  all.by_pool[pool].push_back({ms, name, bytes});
}

}  // namespace internal

}  // namespace causeway::profiler
