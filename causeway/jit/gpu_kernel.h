// A kernel on CUDA devices: compiled for the architecture at its first launch there. Thread-safe.
#pragma once

#include "causeway/jit/arguments.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/runtime/device_code.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

namespace causeway::jit {

// Threads of a block in kernels with block reductions unless the launch says otherwise; the
// interpreter has blocks of this size only.
inline constexpr int kReductionBlock = lang::kLanes;

// The options for a device: its architecture.
CudaOptions options_for(Device device);

class GpuKernel {
 public:
  // The module must outlive it.
  GpuKernel(const lang::Module& module, int kernel, const KernelTraits& traits);

  // Queues the kernel. A block size of 0 is chosen by occupancy,
  // or kReductionBlock. Returns false if an adjoint kernel
  // needed more tape than there was; the next launch has enough. Only kernels with a tape wait for
  // the device.
  bool launch(std::span<const std::int64_t> dims, const BoundArguments& arguments,
              StreamView stream, int block_size);

  // The fastest block size for launches of about this size. Measured at the first of them on the
  // arguments that `scratch` makes, which are overwritten, and remembered on disk.
  int tuned_block_size(std::span<const std::int64_t> dims, StreamView stream,
                       const std::function<BoundArguments()>& scratch);

  // Registers, local and shared memory on a device.
  KernelResources resources(Device device);

 private:
  // The kernel compiled for one architecture and kind of arguments.
  struct Form {
    lang::Emitted emitted;
    std::shared_ptr<DeviceCode> code;
    DeviceKernel kernel;
    std::map<int, int> block_sizes;                      // by device
    std::map<std::pair<int, int>, int> resident_blocks;  // by device and block size
  };

  Form& form(Device device, bool strided, bool overlapping);
  int block_size(Form& form, Device device);
  // Blocks that run at once: one wave.
  int resident_blocks(Form& form, Device device, int block_size);
  bool launch_with_tape(Form& form, std::span<const std::int64_t> dims,
                        const BoundArguments& arguments, StreamView stream, int block_size);

  const lang::Module& module_;
  int kernel_;
  const KernelTraits& traits_;
  std::mutex mutex_;
  std::map<std::tuple<int, bool, bool>, Form> forms_;
  std::map<std::pair<int, int>, int> tuned_;  // by device and logarithm of the launch's size
  std::atomic<int> tape_capacity_ = 256;
};

}  // namespace causeway::jit
