// Adjoint kernels: from gradients of what a kernel wrote to gradients of what it read.
#pragma once

#include "causeway/lang/ir/ir.h"

namespace causeway::lang {

// Adds the adjoint of kernel `kernel` to the module and returns its index. Its parameters are the
// kernel's, then one gradient for every parameter that floats: "adj_x" of the same array type for
// an array x, a one-dimensional array of one element for any other.
//
// The adjoint runs the kernel forward, without its results, then backward. Gradients are added to:
// on entry adj_y holds the gradient of what was written to y, on exit adj_x has that of x added. An
// array that is read and written has its gradient replaced in place: on entry of the new content,
// on exit of the old one. Param::content says what an array argument must hold.
//
// Values that the way back needs and that cannot be computed again are saved on a tape (`push`,
// `pop`), which only kernels with such values have.
int add_adjoint(Module& module, int kernel);

}  // namespace causeway::lang
