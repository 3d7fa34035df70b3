// A random permutation of [0, count) without a table.
#pragma once

#include <cstdint>

namespace causeway::data {

// Position `index` of permutation number `number` of a seed, in O(1). `index` is below `count`.
std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t seed,
                       std::uint64_t number);

}  // namespace causeway::data
