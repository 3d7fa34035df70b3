#include "causeway/dist/device_choice.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"

#include <map>

#include <fmt/format.h>

namespace causeway::dist {

void require_distinct_gpus(const std::vector<std::string>& ids) {
  std::map<std::string, std::size_t> ranks;
  for (std::size_t r = 0; r < ids.size(); ++r) {
    if (ids[r].empty()) continue;  // on the CPU
    const auto [other, first] = ranks.emplace(ids[r], r);
    if (first) continue;
    fail(ErrorKind::distributed, "group",
         fmt::format("ranks {} and {} would use the same GPU {}; start one rank per GPU",
                     other->second, r, ids[r]));
  }
}

Device rank_device(Device first, Group& group) {
  if (group.size() == 1) return first;
  Device device = first;
  std::string id;
  if (first.is_cuda()) {
    device.index = (first.index + group.local_rank()) % cuda_device_count();
    driver::set_default_device(device.index);
    id = driver::uuid(device.index);
  }
  require_distinct_gpus(group.all_gather(id));
  return device;
}

}  // namespace causeway::dist
