// Matrix products of tensors.
#pragma once

#include "causeway/tensor/tensor.h"

namespace causeway {

// NumPy's rules: the last two dimensions are matrices, the others broadcast; a 1-D operand is a row
// on the left, a column on the right. f64, f32, f16 and bf16. Transposed views are read in place.
Tensor matmul(const Tensor& a, const Tensor& b);
// of_product * a b + of_added * added, rounded once: matrices or equal batches of them, one dtype.
Tensor matmul_add(double of_product, const Tensor& a, const Tensor& b, double of_added,
                  const Tensor& added);

// Whether f32 products on a GPU may round their operands to TF32; off at first.
void set_allow_tf32(bool allow);
bool allow_tf32();

}  // namespace causeway
