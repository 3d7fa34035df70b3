#include "causeway/runtime/profiler.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/memory_timeline.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

namespace causeway::profiler {

namespace internal {
std::atomic<bool> on{false};
}

namespace {

using Clock = std::chrono::steady_clock;

struct Record {
  std::string name;
  Kind kind = Kind::kernel;
  StreamView stream;
  double bytes = 0;
  std::optional<Event> begin;  // CUDA
  std::optional<Event> end;
  Clock::time_point cpu_begin;  // CPU
  Clock::time_point cpu_end;
  double start_ms = 0;  // since start(), filled by stop()
  double length_ms = 0;
};

struct Session {
  std::mutex mutex;
  std::deque<Record> records;
  std::map<int, Event> origins;  // per CUDA device, recorded at its first scope
  std::map<int, double> origin_ms;
  Clock::time_point begin;
  double wall_ms = 0;
};

Session& session() {
  static auto* instance = new Session();
  return *instance;
}

double since(Clock::time_point begin, Clock::time_point moment) {
  return std::chrono::duration<double, std::milli>(moment - begin).count();
}

// CUDA events only give differences: the device's clock is aligned with the host's by an event
// recorded on an idle device.
void align_clock(Session& now, StreamView stream) {
  const int device = stream.device().index;
  if (now.origins.contains(device)) return;
  driver::synchronize_device(device);
  Event origin(stream.device(), true);
  origin.record(stream);
  now.origin_ms[device] = since(now.begin, Clock::now());
  now.origins.emplace(device, std::move(origin));
}

const char* kind_name(Kind kind) { return kind == Kind::kernel ? "kernel" : "transfer"; }

}  // namespace

void start() {
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  now.records.clear();
  now.origins.clear();
  now.origin_ms.clear();
  now.begin = Clock::now();
  now.wall_ms = 0;
  internal::start_timelines();
  internal::on = true;
}

void stop() {
  internal::on = false;
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  for (Record& record : now.records) {
    if (record.stream.device().is_cpu()) {
      record.start_ms = since(now.begin, record.cpu_begin);
      record.length_ms = since(record.cpu_begin, record.cpu_end);
    } else if (record.end.has_value()) {
      const int device = record.stream.device().index;
      record.start_ms =
          now.origin_ms.at(device) + Event::milliseconds(now.origins.at(device), *record.begin);
      record.length_ms = Event::milliseconds(*record.begin, *record.end);
    }
  }
  now.wall_ms = since(now.begin, Clock::now());
}

std::vector<Entry> report() {
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  std::map<std::tuple<std::string, Kind, std::string>, Entry> entries;
  for (const Record& record : now.records) {
    const Device device = record.stream.device();
    Entry& entry = entries[{record.name, record.kind, to_string(device)}];
    entry.name = record.name;
    entry.kind = record.kind;
    entry.device = device;
    ++entry.count;
    entry.total_ms += record.length_ms;
    entry.bytes += record.bytes;
  }
  std::vector<Entry> sorted;
  for (auto& [key, entry] : entries) {
    entry.mean_ms = entry.total_ms / static_cast<double>(entry.count);
    if (entry.total_ms > 0) entry.bandwidth = entry.bytes / (entry.total_ms * 1e-3);
    const double peak = describe(entry.device).peak_bandwidth;
    // A transfer is bound by the host-device bus, whose peak is unknown.
    if (peak > 0 && entry.kind == Kind::kernel) entry.share_of_peak = entry.bandwidth / peak;
    sorted.push_back(std::move(entry));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Entry& a, const Entry& b) { return a.total_ms > b.total_ms; });
  return sorted;
}

namespace {

nlohmann::ordered_json named_bytes(const MemoryTimeline& timeline,
                                   const MemoryTimeline::Moment& moment) {
  nlohmann::ordered_json bytes = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < moment.bytes.size(); ++i) {
    bytes[timeline.names[i]] = moment.bytes[i];
  }
  return bytes;
}

// Counters, which viewers draw as stacked areas.
void add_memory(nlohmann::ordered_json& events) {
  for (const MemoryTimeline& timeline : memory_timelines()) {
    for (const MemoryTimeline::Moment& moment : timeline.moments) {
      events.push_back({{"ph", "C"},
                        {"name", "memory of " + timeline.pool},
                        {"pid", 0},
                        {"ts", moment.ms * 1e3},
                        {"args", named_bytes(timeline, moment)}});
    }
  }
}

}  // namespace

std::string report_json() {
  nlohmann::ordered_json out;
  out["wall_ms"] = session().wall_ms;
  out["entries"] = nlohmann::ordered_json::array();
  for (const Entry& entry : report()) {
    nlohmann::ordered_json row;
    row["name"] = entry.name;
    row["kind"] = kind_name(entry.kind);
    row["device"] = to_string(entry.device);
    row["count"] = entry.count;
    row["total_ms"] = entry.total_ms;
    row["mean_ms"] = entry.mean_ms;
    row["bytes"] = entry.bytes;
    row["bandwidth"] = entry.bandwidth;
    row["share_of_peak"] =
        entry.share_of_peak > 0 ? nlohmann::ordered_json(entry.share_of_peak) : nullptr;
    out["entries"].push_back(std::move(row));
  }
  out["memory"] = nlohmann::ordered_json::object();
  for (const MemoryTimeline& timeline : memory_timelines()) {
    const MemoryTimeline::Moment& peak = timeline.peak();
    out["memory"][timeline.pool] = {{"peak", timeline.total(peak)},
                                    {"peak_ms", peak.ms},
                                    {"at_peak", named_bytes(timeline, peak)}};
  }
  return out.dump(2);
}

std::string trace_json() {
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  std::map<CUstream_st*, int> lanes;  // one row of the trace for each stream
  const auto name_lane = [&](StreamView stream, int lane) {
    const Device device = stream.device();
    const int process = device.is_cpu() ? 0 : 1 + device.index;
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", process},
                      {"args", {{"name", to_string(device)}}}});
    events.push_back(
        {{"ph", "M"},
         {"name", "thread_name"},
         {"pid", process},
         {"tid", lane},
         {"args", {{"name", device.is_cpu() ? "cpu" : "stream " + std::to_string(lane)}}}});
  };
  for (const Record& record : now.records) {
    const auto [place, fresh] =
        lanes.try_emplace(record.stream.handle(), static_cast<int>(lanes.size()));
    if (fresh) name_lane(record.stream, place->second);
    const Device device = record.stream.device();
    events.push_back({{"ph", "X"},
                      {"name", record.name},
                      {"cat", kind_name(record.kind)},
                      {"pid", device.is_cpu() ? 0 : 1 + device.index},
                      {"tid", place->second},
                      {"ts", record.start_ms * 1e3},
                      {"dur", record.length_ms * 1e3},
                      {"args", {{"bytes", record.bytes}}}});
  }
  add_memory(events);
  return nlohmann::ordered_json({{"traceEvents", events}, {"displayTimeUnit", "ms"}}).dump();
}

Scope::Scope(const std::string& name, Kind kind, StreamView stream, double bytes)
    : record_(0), stream_(stream) {
  driver::push_range(name.c_str());
  if (capturing()) return;
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  Record& record = now.records.emplace_back();
  record_ = now.records.size();  // 1 and up
  record.name = name;
  record.kind = kind;
  record.stream = stream;
  record.bytes = bytes;
  if (stream.device().is_cuda()) {
    align_clock(now, stream);
    record.begin.emplace(stream.device(), true).record(stream);
  } else {
    record.cpu_begin = Clock::now();
  }
}

Scope::~Scope() {
  driver::pop_range();
  Session& now = session();
  const std::lock_guard lock(now.mutex);
  if (record_ == 0 || record_ > now.records.size())
    return;  // in a capture, or start() was called since
  Record& record = now.records[record_ - 1];
  if (stream_.device().is_cpu()) {
    record.cpu_end = Clock::now();
    return;
  }
  try {
    record.end.emplace(stream_.device(), true).record(stream_);
  } catch (const Error&) {
    record.end.reset();  // the kernel reports its own error
  }
}

}  // namespace causeway::profiler
