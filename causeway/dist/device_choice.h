// Which GPU a rank uses.
#pragma once

#include "causeway/dist/group.h"

#include <string>
#include <vector>

namespace causeway::dist {

// The device of this rank when the user asked for `first`: the first rank of a machine uses that
// GPU, the next one the following, modulo the visible devices, since a launcher may make only one
// visible to each rank. Makes it the default of all threads of this process. Throws on all ranks if
// two would use one GPU. The CPU is returned as it is. All ranks must call it.
Device rank_device(Device first, Group& group);

// Throws a distributed error that names the first two ranks with the same text.
void require_distinct_gpus(const std::vector<std::string>& ids);

}  // namespace causeway::dist
