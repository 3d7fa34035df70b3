// Splits a kernel that computes y[i] from elements i of other arrays into a function of one element
// and a kernel that loads, calls and stores.
#pragma once

#include "causeway/lang/ir/ir.h"

namespace causeway::lang {

// Whether all loads and the only store of the one-dimensional kernel are at the thread's index, on
// arrays of 4-byte scalars, and nothing else has an effect.
bool is_elementwise(const Module& module, const Function& kernel);

// Adds both functions to the module and returns the index of the new kernel, whose parameters are
// those of the old one. The kernel must be elementwise.
int split_element_function(Module& module, int kernel);

}  // namespace causeway::lang
