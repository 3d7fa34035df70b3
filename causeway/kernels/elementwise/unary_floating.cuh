// The operations of one element that only floating numbers have; called by unary.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"

namespace causeway::kernels::cuda {

void unary_floating(StreamView stream, UnaryOp op, const Operand& in, const Operand& out);

}  // namespace causeway::kernels::cuda
