// Attention of f32 tensors on the CPU with products of operands rounded to bf16.
#pragma once

#include "causeway/kernels/attention/attention.h"
#include "causeway/kernels/matmul/bf16_product_cpu.h"

namespace causeway::kernels::cpu {

// Like attention() with AttentionMask::full: queries (scaled), keys, values and probabilities are
// rounded to bf16, sums and exponentials are f32.
void attention_bf16(const Bf16Kernels& kernels, const Attention& how, const Operand& q,
                    const Operand& k, const Operand& v, const Operand& context, const Operand& out,
                    const Operand& log_sum);

}  // namespace causeway::kernels::cpu
