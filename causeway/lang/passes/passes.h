// Transformations of one function, one file each. All keep what the kernel computes, to the bit.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <cstdint>
#include <vector>

namespace causeway::lang {

// Computes what depends on constants only, where IEEE arithmetic fixes the bits; drops branches
// that are never taken; takes components of vectors that were just made.
void fold_constants(const Module& module, Function& function);

// Uses a value that was computed before instead of computing it again.
// With `variables`, also reads of a variable between which it does not change.
void merge_common(const Module& module, Function& function, bool variables = false);

// Reads of a variable give the value that was assigned before, where that stands in the same block.
void forward_variables(Function& function);

// Drops assignments that are overwritten, or whose variable ends, before they are read.
void drop_dead_sets(Function& function);

// Drops what no store, atomic, assert or return depends on.
void drop_dead_code(const Module& module, Function& function);

// Copies the body of loops with a constant number of at most `limit` iterations.
void unroll_loops(Module& module, Function& function, int limit);

// Replaces calls by the callee's body; `wanted` has one flag a function of the module.
void inline_calls(Module& module, Function& function, const std::vector<bool>& wanted);

// What an integer value lies between, as far as the text tells.
struct ValueRange {
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  bool operator==(const ValueRange&) const = default;
};

// One range a value; launch dimensions may be given (0: unknown).
std::vector<ValueRange> value_ranges(const Module& module, const Function& function,
                                     const std::vector<std::int64_t>& dims = {});

// The passes that compile() runs on every function: folding, merging, dead code.
void optimize(const Module& module, Function& function);

}  // namespace causeway::lang
