// Transformations of one function, one file each. All preserve the results of the kernel bit for
// bit.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <cstdint>
#include <vector>

namespace causeway::lang {

// Folds constants where IEEE arithmetic determines the bits, removes branches that are never taken,
// and replaces components of constructed vectors.
void fold_constants(const Module& module, Function& function);

// Uses a value that was computed before instead of computing it again.
// With `variables`, also reads of a variable between which it does not change.
void merge_common(const Module& module, Function& function, bool variables = false);

// Replaces reads of a variable by the value assigned before in the same block.
void forward_variables(Function& function);

// Drops assignments that are overwritten, or whose variable ends, before they are read.
void drop_dead_sets(Function& function);

// Removes instructions that no store, atomic, assert or return depends on.
void drop_dead_code(const Module& module, Function& function);

// Copies the body of loops with a constant number of at most `limit` iterations.
void unroll_loops(Module& module, Function& function, int limit);

// Replaces calls by the callee's body; `wanted` has one flag a function of the module.
void inline_calls(Module& module, Function& function, const std::vector<bool>& wanted);

// Bounds of an integer value, as far as they are known statically.
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
