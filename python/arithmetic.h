// Operations on two operands, each a tensor or a number, for the functions and the operators.
#pragma once

#include "causeway/tensor/elementwise.h"
#include "python/casters.h"

namespace causeway::python {

// At least one operand is a tensor; throws TypeError otherwise.
Tensor apply(BinaryOp op, const Operand& a, const Operand& b);
Tensor apply(CompareOp op, const Operand& a, const Operand& b);

}  // namespace causeway::python
