// The ways the GPU computes attention, behind the one that chooses. Each takes what its checks in
// attention.cpp let through.
#pragma once

#include "causeway/kernels/attention/attention.h"

#include <string>

namespace causeway::kernels::cuda {

// The operands of one call; the gradient's are empty in a forward pass.
struct AttentionCall {
  const Attention& how;
  const Operand& q;
  const Operand& k;
  const Operand& v;
  const Operand& context;
  const Operand& out;
  const Operand& log_sum;
};

struct AttentionGradients {
  const Operand& gradient;
  const Operand& q;
  const Operand& k;
  const Operand& v;
};

// Whether every row of every operand begins at a multiple of 16 bytes.
bool rows_are_aligned(const AttentionCall& call);
bool rows_are_aligned(const AttentionCall& call, const AttentionGradients& gradients);

// bf16 and f16, up to 64 queries, keys and features, rows aligned.
void small_attention(StreamView stream, const AttentionCall& call);
void small_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// bf16 and f16 on tensor cores, up to 128 features.
void flash_attention(StreamView stream, const AttentionCall& call);
void flash_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// f32 and f64 by multiply-adds, up to 128 features.
void exact_attention(StreamView stream, const AttentionCall& call);
void exact_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// Why cuDNN does not take the call; empty where it does. `gradients` is null in a forward pass.
std::string cudnn_declines(StreamView stream, const AttentionCall& call,
                           const AttentionGradients* gradients);
void cudnn_attention(StreamView stream, const AttentionCall& call);
void cudnn_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

}  // namespace causeway::kernels::cuda
