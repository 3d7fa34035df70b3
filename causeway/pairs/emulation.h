// CUDA C++ on a CPU: what a C++ compiler needs to compile an emitted kernel, and a function that
// runs its grid. Blocks run one after the other. The threads of a block do so too, unless the
// kernel has barriers: then each is a thread of the system.
#pragma once

#include "causeway/lang/emit/emit.h"

#include <string_view>

namespace causeway::pairs {

// Defines the index variables, vector types, atomic functions and __syncthreads.
std::string_view emulation_preamble();

// Takes the kernel, the addresses of its arguments, unsigned grid[3] and block[3], and whether the
// kernel has barriers.
lang::Emitted emulation_launcher();

}  // namespace causeway::pairs
