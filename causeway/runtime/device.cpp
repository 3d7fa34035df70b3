#include "causeway/runtime/device.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace causeway {

namespace {

// The value after "key:" in a /proc file, trimmed; empty if the key is not found.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

// The memory limit of the process's container, or the largest number.
std::size_t container_limit() {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  std::ifstream("/sys/fs/cgroup/memory.max") >> bytes;  // "max" sets it to 0
  return bytes > 0 ? bytes : std::numeric_limits<std::size_t>::max();
}

DeviceInfo describe_cpu() {
  DeviceInfo info;
  info.name = proc_value("/proc/cpuinfo", "model name");
#if defined(__aarch64__)
  if (info.name.empty()) info.name = "Arm 64-bit CPU";
#endif
  if (info.name.empty()) info.name = "CPU";
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  info.memory_total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
  const std::string available = proc_value("/proc/meminfo", "MemAvailable");
  info.memory_free = available.empty() ? static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page
                                       : std::strtoull(available.c_str(), nullptr, 10) * 1024;
  info.memory_free = std::min(info.memory_free, container_limit());
  info.multiprocessors = static_cast<int>(std::thread::hardware_concurrency());
  const std::string mhz = proc_value("/proc/cpuinfo", "cpu MHz");
  info.clock_mhz = mhz.empty() ? 0 : static_cast<int>(std::strtod(mhz.c_str(), nullptr));
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  info.l2_bytes = l2 > 0 ? static_cast<std::size_t>(l2) : 0;
  return info;
}

}  // namespace

std::vector<Device> devices() {
  std::vector<Device> all{Device::cpu()};
  for (int i = 0; i < cuda_device_count(); ++i) all.push_back(Device::cuda(i));
  return all;
}

int cuda_device_count() { return driver::device_count(); }

std::string cuda_absence() { return driver::absence(); }

DeviceInfo describe(Device device) {
  if (device.is_cpu()) return describe_cpu();
  driver::require_device(device.index);
  return driver::describe(device.index);
}

std::string to_string(Device device) {
  return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "auto") return cuda_device_count() > 0 ? Device::cuda(0) : Device::cpu();
  int index = 0;
  bool valid = text == "cuda";
  if (text.starts_with("cuda:")) {
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + 5, end, index);
    valid = status == std::errc() && stop == end && index >= 0;
  }
  if (!valid) {
    fail(ErrorKind::invalid_argument, "device",
         fmt::format("\"{}\" is not a device; expected auto, cpu, cuda or cuda:<index>", text));
  }
  driver::require_device(index);
  return Device::cuda(index);
}

}  // namespace causeway
