// argmin and argmax; called by reduce.
#pragma once

#include "causeway/kernels/reduce/reduce.h"

namespace causeway::kernels::cuda {

void arg_reduce(StreamView stream, ReduceOp op, const Operand& in, const Operand& out, Cube cube);

}  // namespace causeway::kernels::cuda
