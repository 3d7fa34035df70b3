// Device code that was compiled at run time: kernels of a cubin, loaded and launched by name.
#pragma once

#include "causeway/runtime/stream.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

struct CUlib_st;
struct CUkern_st;

namespace causeway {

// The size of a launch.
struct GridSize {
  std::array<unsigned, 3> grid = {1, 1, 1};   // blocks
  std::array<unsigned, 3> block = {1, 1, 1};  // threads of a block
  std::size_t shared_bytes = 0;               // dynamic shared memory
};

// What a kernel needs on a device.
struct KernelResources {
  int max_threads = 0;  // per block
  int registers = 0;    // per thread
  std::size_t shared_bytes = 0;
  std::size_t local_bytes = 0;  // per thread: spilled registers and arrays
};

// A kernel of a DeviceCode, valid as long as that lives.
class DeviceKernel {
 public:
  DeviceKernel() = default;
  DeviceKernel(CUkern_st* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  KernelResources resources(Device device) const;
  // Blocks of that size that one multiprocessor runs at a time; 0 if a block is too large.
  int active_blocks(Device device, int block_size, std::size_t shared_bytes = 0) const;
  // Queues the kernel; `arguments` are addresses of its arguments, which are copied. Appears in
  // profiles under the kernel's name.
  void launch(StreamView stream, const GridSize& size, void** arguments) const;

 private:
  CUkern_st* handle_ = nullptr;
  std::string name_;
};

// Owns loaded code. It runs on every device of the architecture it was compiled for.
class DeviceCode {
 public:
  explicit DeviceCode(std::span<const std::byte> cubin);
  ~DeviceCode();
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  // Throws invalid_argument if there is no kernel of that name.
  DeviceKernel kernel(const std::string& name) const;

 private:
  std::vector<std::byte> cubin_;  // the driver may read it later
  CUlib_st* handle_ = nullptr;
};

}  // namespace causeway
