// Scaled dot-product attention, differentiable.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/attention/attention.h"

namespace causeway::autograd {

using kernels::AttentionMask;
using kernels::AttentionPath;

struct AttentionOptions {
  bool causal = false;
  std::optional<double> scale;    // default: 1 / sqrt(head_size)
  std::optional<Tensor> context;  // (batch,) integers: attend only to the first context[b] keys
  AttentionPath path = AttentionPath::automatic;  // GPU only
  bool deterministic = true;
};

// q (batch, heads, n_queries, head_size), k and v (batch, heads, n_keys, head_size), with any
// strides whose last is 1; the result has the shape of q.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

// q, k and v packed in one tensor (batch, length, 3 * heads * head_size); returns (batch, length,
// heads * head_size). No copies before or after, forward or backward.
Tensor attention_packed(const Tensor& qkv, std::int64_t n_heads,
                        const AttentionOptions& options = {});

// The same for a tensor (batch, length, heads, 3, head_size); returns (batch, length, heads,
// head_size). Heads may belong to several interleaved sequences, such as the columns of a table.
Tensor attention_by_heads(const Tensor& qkv, const AttentionOptions& options = {});
// Queries (batch, n_queries, heads, head_size) with keys and values (batch, n_keys, heads, 2,
// head_size).
Tensor attention_by_heads(const Tensor& q, const Tensor& kv, const AttentionOptions& options = {});

}  // namespace causeway::autograd
