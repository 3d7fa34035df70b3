// The implementations of attention on the GPU. attention_cuda.cpp checks what each supports and
// chooses one.
#pragma once

#include "causeway/kernels/attention/attention.h"

#include <string>

namespace causeway::kernels::cuda {

// The operands of one call.
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

// Up to this many rows flash_attention_gradient needs one block per sequence.
inline constexpr int kWholeRows = 128;

// Whether every row of every operand is aligned to 16 bytes.
bool rows_are_aligned(const AttentionCall& call);
bool rows_are_aligned(const AttentionCall& call, const AttentionGradients& gradients);

// bf16 and f16, up to 64 queries, keys and features, aligned rows.
void small_attention(StreamView stream, const AttentionCall& call);
void small_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// bf16 and f16 on tensor cores, up to 128 features.
void flash_attention(StreamView stream, const AttentionCall& call);
void flash_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// bf16 and f16 on compute capability 9.0, up to 64 features, aligned rows: wgmma.
void hopper_attention(StreamView stream, const AttentionCall& call);
void hopper_gradient(StreamView stream, const AttentionCall& call,
                     const AttentionGradients& gradients);
// The same for many sequences of 129 to 320 queries without a causal mask: one block per sequence.
// Returns false, and does nothing, if the call is not of that kind.
bool hopper_whole_gradient(StreamView stream, const AttentionCall& call,
                           const AttentionGradients& gradients);

// f32 and f64 with multiply-adds, up to 128 features.
void exact_attention(StreamView stream, const AttentionCall& call);
void exact_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

// Why cuDNN does not support the call; empty if it does. `gradients` is null in a forward pass.
std::string cudnn_unsupported(StreamView stream, const AttentionCall& call,
                              const AttentionGradients* gradients);
void cudnn_attention(StreamView stream, const AttentionCall& call);
void cudnn_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients);

}  // namespace causeway::kernels::cuda
