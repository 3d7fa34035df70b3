// Replaces nccl.cpp in builds without NCCL.
#include "causeway/core/error.h"
#include "causeway/dist/nccl.h"

namespace causeway::dist {

std::shared_ptr<DeviceCollectives> connect_nccl(const DeviceRank&,
                                                const std::function<std::string(std::string)>&,
                                                const std::function<void()>&, const Timeouts&) {
  fail(ErrorKind::distributed, "group",
       "this build has no NCCL support, which GPU ranks need; install NCCL and rebuild, or use the "
       "cpu device");
}

LibraryStatus nccl_status() { return {"", "", "this build has no NCCL support"}; }

}  // namespace causeway::dist
