// Kernels of text generation, which computes one token per sequence and step. Activations are f32;
// weights and the key-value cache keep the model's dtype. All operands are contiguous.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>

namespace causeway::kernels {

enum class DecodeNorm : std::uint8_t { none, layer, rms };
enum class DecodeActivation : std::uint8_t { none, gelu, gated_silu };

struct DecodeLinear {
  DecodeNorm norm = DecodeNorm::none;  // of x, first
  float epsilon = 1e-5f;
  DecodeActivation activation = DecodeActivation::none;  // of the product
  bool adds = false;                                     // to y, instead of overwriting it
};

// The operands of decode_linear; those that are not used are empty.
struct DecodeLinearOperands {
  Operand x;            // (in) f32
  Operand norm_weight;  // (in) f32
  Operand norm_bias;
  Operand weight;  // (rows, in): a floating type, or i8 with `scales`
  Operand scales;  // (rows) f32
  Operand bias;    // (rows) f32
  Operand y;       // (out) f32
};

// y = activation(weight norm(x) + bias), for one sequence. out is the number of rows of `weight`,
// or half of it with SwiGLU, whose first half of rows are the gates. On a GPU decode_model.h has
// the whole step.
namespace cpu {
void decode_linear(const DecodeLinear& how, const DecodeLinearOperands& operands);
}  // namespace cpu

struct DecodeAttention {
  int heads = 0;
  int kv_heads = 0;
};

// One token of each sequence, at position lengths[b], attends to positions 0 to lengths[b]. `heads`
// (batch, (heads + 2 kv_heads) * size) has its q, k and v. `rotary` is empty, or the table of the
// rotary kernel, which rotates q and k. k and v are written to the caches (batch, kv_heads,
// capacity, size). lengths (batch) are i64 and below the capacity. out is (batch, heads * size).
// `heads` and `out` are f32 or have the dtype of the caches.
CAUSEWAY_KERNEL(decode_attention, const DecodeAttention& how, const Operand& heads,
                const Operand& rotary, const Operand& keys, const Operand& values,
                const Operand& lengths, const Operand& out);

// x (batch, width) = embedding[token] + positions[lengths[b]], where the token is
// tokens[b, lengths[b]], i64 (batch, capacity). `positions` may be empty. x is f32 or has the dtype
// of the embedding.
CAUSEWAY_KERNEL(decode_embed, const Operand& tokens, const Operand& lengths,
                const Operand& embedding, const Operand& positions, const Operand& x);

struct SampleTokens {
  std::int64_t n_classes = 0;  // the first columns of the logits
  float temperature = 1;       // 0: the largest logit
  std::int64_t top_k = 0;      // keeps the k largest logits; 0: all
  float top_p = 1;             // keeps the largest logits whose probabilities sum to this
  float min_p = 0;             // keeps probabilities of at least this times the largest
  std::uint64_t seed = 0;

  bool operator==(const SampleTokens&) const = default;
};

// Draws a token for each sequence from logits (batch, columns), writes it to
// tokens[b, lengths[b] + 1] and increments lengths[b]. Does nothing where that column does not
// exist. The draw depends on seed, b and lengths[b]. The filters apply in the order of their
// declaration; equal logits are kept or removed together.
CAUSEWAY_KERNEL(sample_tokens, const SampleTokens& how, const Operand& logits,
                const Operand& tokens, const Operand& lengths);

}  // namespace causeway::kernels
