// Adjoint kernels: from gradients of a kernel's outputs to gradients of its inputs.
#pragma once

#include "causeway/lang/ir/ir.h"

namespace causeway::lang {

// Adds the adjoint of kernel `kernel` to the module and returns its index. Its parameters are the
// kernel's, then one gradient for every floating-point parameter: "adj_x" of the same array type
// for an array x, a one-dimensional array of one element for any other.
//
// The adjoint runs the kernel forward, without its results, then backward. Gradients
// accumulate: on entry adj_y holds the gradient of the values written to y, on exit that of x is
// added to adj_x. The gradient of an array that is read and written is replaced: on entry that of
// the new content, on exit that of the old one. Param::content has the expected content of array
// arguments.
//
// Values that the backward pass needs and cannot recompute are saved on a tape (`push`, `pop`),
// which only kernels with such values have.
int add_adjoint(Module& module, int kernel);

}  // namespace causeway::lang
