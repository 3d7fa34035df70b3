// Matrix products.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

// out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j], for one floating dtype. The leading
// dimensions are equal; a stride of 0 there repeats a matrix. Each matrix of `a` and `b` has
// stride 1 in one of its two dimensions and at least its other size in the other; `out` is
// contiguous. f16 and bf16 accumulate in f32; `allow_tf32` lets f32 round its operands to TF32.
CAUSEWAY_KERNEL(matmul, const Operand& a, const Operand& b, const Operand& out, bool allow_tf32);

// What happens to a product before it is stored.
enum class Epilogue : std::uint8_t {
  none,
  bias,           // + bias, one number for each column
  bias_gelu,      // gelu_tanh(product + bias); `aux` takes product + bias
  gelu_gradient,  // product * gelu_tanh'(aux); `bias_gradient` takes its sums over the rows
};

std::string_view to_string(Epilogue epilogue);

// out (m, n) = epilogue(a (m, k) b (k, n)) for matrices as matmul takes them (no batch). `bias` and
// `bias_gradient` have n elements and may be left out, `aux` is contiguous (m, n), all of one
// dtype. With `accumulate` the product is added to what `out` holds (epilogue none only).
CAUSEWAY_KERNEL(linear, Epilogue epilogue, const Operand& a, const Operand& b, const Operand& bias,
                const Operand& aux, const Operand& bias_gradient, const Operand& out,
                bool allow_tf32);

}  // namespace causeway::kernels
