// Devices, of which the CPU is one: listing, describing and choosing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index = 0) { return {DeviceKind::cuda, index}; }
  constexpr bool is_cpu() const { return kind == DeviceKind::cpu; }
  constexpr bool is_cuda() const { return kind == DeviceKind::cuda; }
  friend constexpr bool operator==(const Device&, const Device&) = default;
};

struct DeviceInfo {
  std::string name;
  int capability_major = 0;  // CUDA compute capability; 0 for the CPU
  int capability_minor = 0;
  std::size_t memory_total = 0;  // bytes
  std::size_t memory_free = 0;   // bytes, at the time of the call
  int multiprocessors = 0;       // hardware threads for the CPU
  int clock_mhz = 0;             // 0 if unknown
  int memory_clock_mhz = 0;
  std::size_t l2_bytes = 0;
  double peak_bandwidth = 0;  // bytes per second; 0 if unknown
  double peak_flops = 0;      // of f16 matrix products per second, at `clock_mhz`; 0 if unknown
};

// The CPU, then every CUDA device.
std::vector<Device> devices();
int cuda_device_count();

// Why there is no CUDA device (build, driver or machine). Empty if there is one.
std::string cuda_absence();

// Throws a device error if `device` does not exist.
DeviceInfo describe(Device device);

// "cpu" or "cuda:1".
std::string to_string(Device device);

// Parses "auto" (the first CUDA device, or the CPU without one), "cpu", "cuda", "cuda:1". Throws
// invalid_argument for other text and a device error for a device that does not exist.
Device parse_device(std::string_view text);

}  // namespace causeway
