// Collectives of GPU tensors. nccl.cpp implements them with NCCL, which is loaded at first use;
// builds without its header use no_nccl.cpp. They run on their own stream, after the work queued on
// the current stream at the time of the call and concurrently with later work, and can be captured
// in a CUDA graph.
#pragma once

#include "causeway/core/library.h"
#include "causeway/dist/group.h"

#include <functional>
#include <memory>
#include <string>

namespace causeway::dist {

// One thread calls the collectives; another may call fault() and abort() concurrently.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual Pending all_reduce(const Tensor& x, Reduction how) = 0;
  virtual Pending broadcast(const Tensor& x, int root) = 0;
  virtual Pending reduce_scatter(const Tensor& x, Reduction how) = 0;
  virtual Pending all_gather(const Tensor& x) = 0;

  // The error, such as a timeout; empty if there is none.
  virtual std::string fault() = 0;
  // Aborts current and future collectives, also on the device. May block until all graphs that
  // captured a collective are destroyed; other calls do not wait for it.
  virtual void abort() noexcept = 0;
};

struct DeviceRank {
  Device device;
  int rank = 0;
  int size = 1;
};

// `share` broadcasts the bytes of rank 0. `check` throws if waiting for other ranks is pointless.
std::shared_ptr<DeviceCollectives> connect_nccl(
    const DeviceRank& place, const std::function<std::string(std::string)>& share,
    const std::function<void()>& check, const Timeouts& timeouts = {});

// Version and file of the library, or why it is not available.
LibraryStatus nccl_status();

}  // namespace causeway::dist
