// Collectives of a GPU's tensors. Implemented by nccl.cpp over NCCL, which is opened at first use;
// a build without its header takes no_nccl.cpp. They run on a stream of their own, after the work
// the current stream holds when they are called, alongside what it is given later, and can be part
// of a graph.
#pragma once

#include "causeway/core/library.h"
#include "causeway/dist/group.h"

#include <functional>
#include <memory>
#include <string>

namespace causeway::dist {

// One thread calls the collectives; another may look and abort meanwhile.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual Pending all_reduce(const Tensor& x, Reduction how) = 0;
  virtual Pending broadcast(const Tensor& x, int root) = 0;

  // What has gone wrong, such as a collective that is not done in time; empty while all is well.
  virtual std::string fault() = 0;
  // Ends what is under way, also on the device, and everything that is still to come.
  virtual void abort() noexcept = 0;
};

struct DeviceRank {
  Device device;
  int rank = 0;
  int size = 1;
};

// `share` gives every rank the bytes of rank 0. `check` throws when there is no point in waiting
// any longer for the other ranks.
std::shared_ptr<DeviceCollectives> connect_nccl(
    const DeviceRank& place, const std::function<std::string(std::string)>& share,
    const std::function<void()>& check, const Timeouts& timeouts = {});

// The library's version and file, or why there is none.
LibraryStatus nccl_status();

}  // namespace causeway::dist
