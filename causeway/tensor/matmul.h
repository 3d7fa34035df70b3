// Matrix products of tensors.
#pragma once

#include "causeway/tensor/tensor.h"

namespace causeway {

// NumPy's rules: the last two dimensions are matrices, the others broadcast; a 1-D operand is a row
// on the left, a column on the right. f64, f32, f16 and bf16. Transposed views are not copied.
Tensor matmul(const Tensor& a, const Tensor& b);
// alpha * a b + beta * added, rounded once. Matrices or equal batches of them, one dtype.
Tensor matmul_add(double alpha, const Tensor& a, const Tensor& b, double beta, const Tensor& added);

// Whether f32 products on a GPU may round their operands to TF32; default: off.
void set_allow_tf32(bool allow);
bool allow_tf32();

}  // namespace causeway
