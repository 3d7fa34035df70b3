// Devices, memory, threads and the profiler.
#include "causeway/runtime/device.h"

#include "causeway/core/environment.h"
#include "causeway/core/library.h"
#include "causeway/report/memory_page.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/memory_timeline.h"
#include "causeway/runtime/pool.h"
#include "causeway/runtime/profiler.h"
#include "causeway/runtime/threads.h"
#include "python/bind.h"
#include "python/casters.h"

#include <nanobind/stl/variant.h>

#include <optional>
#include <variant>

namespace causeway::python {

namespace {

nb::dict describe_device(Device device) {
  const DeviceInfo info = describe(device);
  nb::dict entries;
  entries["device"] = device;
  entries["name"] = info.name;
  entries["capability"] = nb::make_tuple(info.capability_major, info.capability_minor);
  entries["memory_total"] = info.memory_total;
  entries["memory_free"] = info.memory_free;
  entries["multiprocessors"] = info.multiprocessors;
  entries["clock_mhz"] = info.clock_mhz;
  entries["memory_clock_mhz"] = info.memory_clock_mhz;
  entries["l2_bytes"] = info.l2_bytes;
  entries["peak_bandwidth"] = info.peak_bandwidth;
  return entries;
}

nb::list list_devices() {
  nb::list list;
  for (Device device : devices()) list.append(describe_device(device));
  return list;
}

nb::dict memory_stats(Device device) {
  const MemoryStats stats = pool_of(device).stats();
  nb::dict entries;
  entries["current"] = stats.current;
  entries["peak"] = stats.peak;
  entries["cached"] = stats.cached;
  entries["captured"] = stats.captured;
  entries["limit"] = stats.limit;
  entries["allocations"] = stats.allocations;
  entries["frees"] = stats.frees;
  entries["segments"] = stats.segments;
  entries["upstream_allocations"] = stats.upstream_allocations;
  entries["recoveries"] = stats.recoveries;
  entries["corrupted"] = stats.corrupted;
  nb::dict by_name;
  for (const auto& [name, named] : stats.by_name) {
    nb::dict row;
    row["current"] = named.current;
    row["peak"] = named.peak;
    row["allocations"] = named.allocations;
    by_name[name.c_str()] = row;
  }
  entries["by_name"] = by_name;
  return entries;
}

void set_memory_limit(const std::variant<std::size_t, std::string>& limit, Device device) {
  const auto* bytes = std::get_if<std::size_t>(&limit);
  pool_of(device).set_limit(
      bytes != nullptr ? *bytes : parse_bytes("set_memory_limit", std::get<std::string>(limit)));
}

// A context manager over MemoryScope.
struct NamedScope {
  std::string name;
  std::optional<MemoryScope> scope;
};

nb::list profile_report() {
  nb::list rows;
  for (const profiler::Entry& entry : profiler::report()) {
    nb::dict row;
    row["name"] = entry.name;
    row["kind"] = entry.kind == profiler::Kind::kernel ? "kernel" : "transfer";
    row["device"] = entry.device;
    row["count"] = entry.count;
    row["total_ms"] = entry.total_ms;
    row["mean_ms"] = entry.mean_ms;
    row["bytes"] = entry.bytes;
    row["bandwidth"] = entry.bandwidth;
    row["share_of_peak"] = entry.share_of_peak;
    rows.append(row);
  }
  return rows;
}

std::string memory_page() {
  std::vector<report::MemoryChart> charts;
  for (const profiler::MemoryTimeline& timeline : profiler::memory_timelines()) {
    report::MemoryChart& chart = charts.emplace_back();
    chart.pool = timeline.pool;
    chart.names = timeline.names;
    for (const auto& [ms, bytes] : timeline.moments) chart.moments.push_back({ms, bytes});
  }
  return report::memory_html(charts);
}

void bind_memory(nb::module_& module) {
  const auto device = "device"_a = Device::cpu();
  module.def(
      "memory_stats", memory_stats, device,
      nb::sig("def memory_stats(device: str = 'cpu') -> dict[str, typing.Any]"),
      "Statistics of the device's memory pool, in bytes and counts; by_name has those of each "
      "memory_scope. Use profile().memory_page() for the memory over time.");
  module.def(
      "reset_peak_memory", [](Device where) { pool_of(where).reset_peak(); }, device,
      "Resets the peak of memory_stats to the current value.");
  module.def(
      "release_cached_memory",
      [](Device where) { without_gil([&] { pool_of(where).release_cached(); }); }, device,
      "Releases cached memory to the system.");
  module.def("set_memory_limit", set_memory_limit, "limit"_a, device,
             "Limits the device's memory pool, in bytes or as \"2GiB\"; 0 removes the limit.");
  module.def(
      "_fail_nth_allocation", [](std::uint64_t n, Device where) { pool_of(where).fail_nth(n); },
      "n"_a, device,
      "Makes the n-th allocation from now (1 is the next) throw OutOfMemory, once; 0 "
      "cancels.");
  module.def(
      "_set_guarded_memory",
      [](bool guarded, Device where) { pool_of(where).set_guarded(guarded); }, "guarded"_a, device,
      "Sets whether new memory is filled with NaN and guarded at both ends; \"corrupted\" in "
      "memory_stats counts overwritten guards.");
  nb::class_<NamedScope>(module, "memory_scope",
                         "Names the allocations made inside a with block, for memory_stats.")
      .def(
          "__init__",
          [](NamedScope* self, const std::string& name) {
            new (self) NamedScope{name, std::nullopt};
          },
          "name"_a)
      .def(
          "__enter__",
          [](nb::handle_t<NamedScope> self) {
            auto& scope = nb::cast<NamedScope&>(self);
            scope.scope.emplace(scope.name);
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> memory_scope"))
      .def(
          "__exit__", [](NamedScope& self, nb::args) { self.scope.reset(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

void bind_profiler(nb::module_& module) {
  module.def("_profiler_start", &profiler::start, "Clears the records and starts.");
  module.def(
      "_profiler_stop", [] { without_gil([] { profiler::stop(); }); },
      "Waits for the devices and stops.");
  module.def("_profiler_report", profile_report,
             nb::sig("def _profiler_report() -> list[dict[str, typing.Any]]"),
             "One entry per name and device, longest total first.");
  module.def("_profiler_json", &profiler::report_json, "The report as JSON.");
  module.def("_profiler_trace", &profiler::trace_json, "The records as Chrome trace events, JSON.");
  module.def("_profiler_memory_page", memory_page, "The memory over time as an HTML page.");
}

}  // namespace

void bind_runtime(nb::module_& module) {
  module.def("_set_device_class", set_device_class, "type"_a);
  module.def("devices", list_devices, nb::sig("def devices() -> list[dict[str, typing.Any]]"),
             "The CPU, then every CUDA device, each with its name, memory, clocks and bandwidth.");
  module.def("_cuda_device_count", &cuda_device_count, "Number of CUDA devices.");
  module.def("_cuda_absence", &cuda_absence, "Why there is no CUDA device; empty if there is one.");
  module.def("_cuda_runtime_version", &driver::runtime_version,
             "The CUDA runtime's version, such as \"13.0\"; empty without CUDA.");
  module.def("_cuda_driver_version", &driver::driver_version,
             "The CUDA version the driver supports; empty without CUDA.");
  module.def(
      "_add_wheel_folder", [](const std::string& folder) { add_wheel_folder(folder); }, "folder"_a,
      "Adds a folder of NVIDIA's wheels to the library search path.");
  module.def("threads", &thread_count, "Number of CPU threads.");
  module.def("set_threads", &set_thread_count, "count"_a,
             "Sets the number of CPU threads, 1 or more.");
  bind_memory(module);
  bind_profiler(module);
}

}  // namespace causeway::python
