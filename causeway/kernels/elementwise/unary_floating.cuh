// Unary operations on floating types only; called by unary.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"

namespace causeway::kernels::cuda {

void unary_floating(StreamView stream, UnaryOp op, const Operand& in, const Operand& out);

}  // namespace causeway::kernels::cuda
