// Launch settings chosen by measurement and remembered on disk.
#pragma once

#include "causeway/jit/disk_cache.h"

#include <functional>
#include <span>
#include <string>

namespace causeway::jit {

// The candidate with the smallest time. `milliseconds` is called for each, unless the cache has the
// answer to an earlier call with that key and these candidates.
int fastest_of(DiskCache& cache, const std::string& key, std::span<const int> candidates,
               const std::function<double(int)>& milliseconds);

}  // namespace causeway::jit
