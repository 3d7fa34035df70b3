// What a launch has to know of a kernel: which arrays it reads and writes, and whether its threads
// may run in any order.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <cstddef>
#include <vector>

namespace causeway::jit {

struct ArrayUse {
  bool read = false;         // loaded, or the value before an atomic operation is used
  bool stored = false;       // assigned
  bool accumulated = false;  // by atomic_add and atomic_sub
  bool exchanged = false;    // by other atomic operations

  bool written() const { return stored || accumulated || exchanged; }
};

struct KernelTraits {
  std::vector<ArrayUse> arrays;  // by parameter; all false for values
  // Threads with different first coordinates touch different elements of every array that is
  // written, so ranges of the first launch dimension may run at once and give the same bits.
  bool independent = false;
  bool uses_blocks = false;  // block_sum and the like
  bool has_loops = false;    // without loops all threads do about the same work
  bool prints = false;
  bool uses_tape = false;  // an adjoint kernel that saves values
  std::size_t n_instructions = 0;
};

KernelTraits traits_of(const lang::Module& module, int kernel);

}  // namespace causeway::jit
