// Scaled dot-product attention: softmax(q k^T * scale) v for every batch entry and head. Memory is
// linear in the sequence length on every path.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway::kernels {

enum class AttentionMask : std::uint8_t {
  full,
  causal,  // query i attends to keys 0 … i + n_keys - n_queries
};

// Implementations on the GPU; the CPU has one.
enum class AttentionPath : std::uint8_t {
  automatic,
  flash,   // tiles of keys stream past a tile of queries, on tensor cores
  cudnn,   // the library, for long sequences
  small,   // a whole sequence on chip, for lengths up to 64
  hopper,  // as flash, with instructions of compute capability 9.0
};

std::string_view to_string(AttentionMask mask);
std::string_view to_string(AttentionPath path);

struct Attention {
  AttentionMask mask = AttentionMask::full;
  double scale = 1;
  AttentionPath path = AttentionPath::automatic;
  bool deterministic = true;  // the same bits in every run, in the backward pass too
};

// q is (batch, heads, n_queries, head_size), k and v (batch, heads, n_keys, head_size), out like q,
// all of one floating dtype. The last stride is 1, the others are free, so that one packed tensor
// may hold q, k and v. `context` holds `batch` i64 on the device: the queries of entry b attend
// only to its first context[b] keys (a table's context rows); if empty, to all. A query without
// keys gives 0. `log_sum` (batch, heads, n_queries) f32 (f64 for f64) receives the logarithm of
// each row's sum of exponentials, which the gradient needs.
CAUSEWAY_KERNEL(attention, const Attention& how, const Operand& q, const Operand& k,
                const Operand& v, const Operand& context, const Operand& out,
                const Operand& log_sum);
// Gradients of q, k and v; strides are free except the last. The gradients of a key that context or
// mask hides from all queries are 0.
CAUSEWAY_KERNEL(attention_gradient, const Attention& how, const Operand& q, const Operand& k,
                const Operand& v, const Operand& context, const Operand& out,
                const Operand& log_sum, const Operand& gradient, const Operand& q_gradient,
                const Operand& k_gradient, const Operand& v_gradient);

}  // namespace causeway::kernels
