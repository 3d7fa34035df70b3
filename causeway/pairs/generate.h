// Random typed programs.
#pragma once

#include "causeway/pairs/program.h"

namespace causeway::pairs {

// The program of the seed. Every value that it computes from inputs in their ranges is finite,
// every index is in range, and no two threads write the same element except by atomics.
Program generate(Category category, int level, std::uint64_t seed);

}  // namespace causeway::pairs
