// Matrix products.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j], for one floating dtype. The leading
// dimensions are equal; a stride of 0 there repeats a matrix. Each matrix of `a` and `b` has
// stride 1 in one of its two dimensions and at least its other size in the other; `out` is
// contiguous. f16 and bf16 accumulate in f32; `allow_tf32` lets f32 round its operands to TF32.
CAUSEWAY_KERNEL(matmul, const Operand& a, const Operand& b, const Operand& out, bool allow_tf32);

}  // namespace causeway::kernels
