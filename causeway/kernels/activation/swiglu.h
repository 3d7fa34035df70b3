// SwiGLU (Shazeer 2020): silu(gate) * up, for a gate and a value that one linear layer computes.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// `in` is (rows, 2 * width): the gates, then the values; `out` is (rows, width). All operands are
// contiguous and of one floating dtype.
CAUSEWAY_KERNEL(swiglu, const Operand& in, const Operand& out);
// `gradient` is (rows, width), `out` (rows, 2 * width).
CAUSEWAY_KERNEL(swiglu_gradient, const Operand& in, const Operand& gradient, const Operand& out);

}  // namespace causeway::kernels
