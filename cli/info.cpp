#include "cli/info.h"

#include "cli/licences.h"
#include "cli/options.h"
#include "cli/text_table.h"

#include "causeway/core/environment.h"
#include "causeway/core/version.h"
#include "causeway/data/hdf5.h"
#include "causeway/dist/nccl.h"
#include "causeway/dist/transport.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/kernels/libraries.h"
#include "causeway/runtime/device.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"
#include "causeway/runtime/threads.h"

#include <cblas.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace causeway::cli {

namespace {

struct InfoOptions {
  Device device;
  bool json = false;
  bool licences = false;
};

using Fields = std::vector<std::pair<const char*, std::string>>;

std::string or_dash(bool known, std::string text) { return known ? std::move(text) : "-"; }

Fields fields(Device device) {
  const DeviceInfo info = describe(device);
  const MemoryStats pool = pool_of(device).stats();
  const auto mhz = [](int clock) { return or_dash(clock > 0, fmt::format("{} MHz", clock)); };
  const auto capability = fmt::format("{}.{}", info.capability_major, info.capability_minor);
  const auto bandwidth = fmt::format("{:.0f} GB/s", info.peak_bandwidth / 1e9);
  return {{"name", info.name},
          {"compute capability", or_dash(device.is_cuda(), capability)},
          {"memory", format_bytes(info.memory_total)},
          {"memory free", format_bytes(info.memory_free)},
          {"peak bandwidth", or_dash(info.peak_bandwidth > 0, bandwidth)},
          {"L2 cache", or_dash(info.l2_bytes > 0, format_bytes(info.l2_bytes))},
          {"multiprocessors", fmt::format("{}", info.multiprocessors)},
          {"clock", mhz(info.clock_mhz)},
          {"memory clock", mhz(info.memory_clock_mhz)},
          {"pool in use", format_bytes(pool.current)},
          {"pool peak", format_bytes(pool.peak)},
          {"pool cached", format_bytes(pool.cached)},
          {"pool limit", pool.limit > 0 ? format_bytes(pool.limit) : "none"},
          {"pool allocations", fmt::format("{}", pool.allocations)}};
}

// One column per device, one row per field.
std::string device_table(const std::vector<Device>& devices) {
  std::vector<TextTable::Column> columns{{"device"}};
  std::vector<Fields> all;
  for (const Device device : devices) {
    columns.push_back({to_string(device)});
    all.push_back(fields(device));
  }
  TextTable table(std::move(columns));
  for (std::size_t row = 0; row < all.front().size(); ++row) {
    std::vector<std::string> cells{all.front()[row].first};
    for (const Fields& of_device : all) cells.push_back(of_device[row].second);
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string cuda_line() {
  if (driver::runtime_version().empty()) return "none: " + cuda_absence();
  const std::string runtime = "runtime " + driver::runtime_version();
  if (cuda_device_count() == 0) return fmt::format("{}, no device: {}", runtime, cuda_absence());
  return fmt::format("{}, driver {}", runtime, driver::driver_version());
}

struct NamedLibrary {
  const char* name;
  const char* key;
  LibraryStatus (*status)();
};

// Libraries opened at first use. GPU libraries are skipped without a GPU, since opening them is
// slow.
std::vector<NamedLibrary> libraries() {
  std::vector<NamedLibrary> all{{"HDF5", "hdf5", data::hdf5_status},
                                {"MPI", "mpi", dist::mpi_status},
                                {"NVRTC", "nvrtc", jit::nvrtc_status}};
  if (cuda_device_count() == 0) return all;
  all.push_back({"cuBLASLt", "cublaslt", kernels::cublas_status});
  all.push_back({"cuDNN", "cudnn", kernels::cudnn_status});
  all.push_back({"NCCL", "nccl", dist::nccl_status});
  return all;
}

std::string library_line(const LibraryStatus& status) {
  if (status.version.empty()) return "none: " + status.absence;
  return fmt::format("{} ({})", status.version, status.path);
}

void print_text(const std::vector<Device>& devices) {
  TextTable backends({{""}, {""}});
  backends.add_row({"OpenBLAS", openblas_get_config()});
  backends.add_row({"CPU threads", fmt::format("{}", thread_count())});
  backends.add_row({"CUDA", cuda_line()});
  for (const auto& [name, key, status] : libraries()) {
    backends.add_row({name, library_line(status())});
  }
  fmt::print("{}\n\n{}\n{}", version_line(), backends.to_string(), device_table(devices));
}

using Json = nlohmann::ordered_json;

// A number, or null if unknown.
template <class Number>
Json known(Number value) {
  return value == Number() ? Json() : Json(value);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json to_json(const MemoryStats& pool) {
  return {{"current", pool.current},         {"peak", pool.peak},
          {"cached", pool.cached},           {"limit", known(pool.limit)},
          {"allocations", pool.allocations}, {"frees", pool.frees},
          {"segments", pool.segments},       {"upstream_allocations", pool.upstream_allocations},
          {"recoveries", pool.recoveries}};
}

Json to_json(Device device) {
  const DeviceInfo info = describe(device);
  Json capability;
  if (device.is_cuda()) capability = {info.capability_major, info.capability_minor};
  return {{"device", to_string(device)},
          {"name", info.name},
          {"capability", capability},
          {"memory_total", info.memory_total},
          {"memory_free", info.memory_free},
          {"peak_bandwidth", known(info.peak_bandwidth)},
          {"l2_bytes", known(info.l2_bytes)},
          {"multiprocessors", info.multiprocessors},
          {"clock_mhz", known(info.clock_mhz)},
          {"memory_clock_mhz", known(info.memory_clock_mhz)},
          {"pool", to_json(pool_of(device).stats())}};
}

void print_json(const std::vector<Device>& devices) {
  Json all = Json::array();
  for (const Device device : devices) all.push_back(to_json(device));
  Json found = Json::object();
  for (const auto& [name, key, status] : libraries()) {
    const LibraryStatus of_library = status();
    found[key] = {{"version", text_or_null(of_library.version)},
                  {"path", text_or_null(of_library.path)},
                  {"absence", text_or_null(of_library.absence)}};
  }
  const Json report = {{"version", kVersion},
                       {"openblas", openblas_get_config()},
                       {"cpu_threads", thread_count()},
                       {"cuda",
                        {{"runtime", text_or_null(driver::runtime_version())},
                         {"driver", text_or_null(driver::driver_version())},
                         {"absence", text_or_null(cuda_absence())}}},
                       {"libraries", found},
                       {"devices", all}};
  fmt::print("{}\n", report.dump(2));
}

}  // namespace

std::string version_line() {
  const std::string cuda = driver::runtime_version();
  return fmt::format("causeway {} ({})", kVersion, cuda.empty() ? "cpu only" : "cuda " + cuda);
}

void add_info(CLI::App& app) {
  CLI::App* info = app.add_subcommand("info", "Show devices, backends, versions and memory");
  const auto options = std::make_shared<InfoOptions>();
  const CLI::Option* device =
      add_device(*info, options->device, "")->description("Show only this device [all]");
  add_json(*info, options->json);
  info->add_flag("--licences", options->licences,
                 "List the libraries that are linked, with version and licence");
  info->callback([options, device] {
    if (options->licences) {
      fmt::print("{}", options->json ? licences_json().dump(2) + "\n" : licences_text());
      return;
    }
    const auto chosen = device->count() > 0 ? std::vector{options->device} : devices();
    options->json ? print_json(chosen) : print_text(chosen);
  });
}

}  // namespace causeway::cli
