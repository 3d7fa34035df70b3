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
// out = of_product * a b + of_added * added, rounded once; `added` has the layout of `out`. For
// 16-bit `a` and `b`, `added` and `out` may be f32, to sum many products without rounding the sum.
CAUSEWAY_KERNEL(matmul_add, double of_product, const Operand& a, const Operand& b, double of_added,
                const Operand& added, const Operand& out, bool allow_tf32);

// Operation on a product before it is stored.
enum class Epilogue : std::uint8_t {
  none,
  bias,           // + bias, one number per column
  gelu,           // gelu_tanh(product); `aux` receives product
  bias_gelu,      // gelu_tanh(product + bias); `aux` receives product + bias
  gelu_gradient,  // product * gelu_tanh'(aux)
};

std::string_view to_string(Epilogue epilogue);

// out (m, n) = epilogue(a (m, k) b (k, n)) for matrices as for matmul (without batch). `bias` has n
// elements, `aux` is contiguous (m, n), all of one dtype; either may be empty, except `aux` of
// gelu and bias_gelu on a GPU.
CAUSEWAY_KERNEL(linear, Epilogue epilogue, const Operand& a, const Operand& b, const Operand& bias,
                const Operand& aux, const Operand& out, bool allow_tf32);

}  // namespace causeway::kernels
