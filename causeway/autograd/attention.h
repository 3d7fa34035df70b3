// Scaled dot-product attention, differentiable.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/attention/attention.h"

namespace causeway::autograd {

using kernels::AttentionMask;
using kernels::AttentionPath;

struct AttentionOptions {
  bool causal = false;
  std::optional<double> scale;    // 1 / sqrt(head_size) unless given
  std::optional<Tensor> context;  // (batch,) integers: entry b's queries see its first context[b]
                                  // keys
  AttentionPath path = AttentionPath::automatic;  // of a GPU; the CPU has one
  bool deterministic = true;
};

// q (batch, heads, n_queries, head_size), k and v (batch, heads, n_keys, head_size), of any strides
// whose last is 1; the result is like q.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

// Of one tensor (batch, length, 3 * heads * head_size) that holds q, k and v beside each other, to
// (batch, length, heads * head_size): no copies before or after, forward or backward.
Tensor attention_packed(const Tensor& qkv, std::int64_t n_heads,
                        const AttentionOptions& options = {});

// The same of a tensor (batch, length, heads, 3, head_size), to (batch, length, heads, head_size).
// Heads may so be those of several sequences that lie side by side: the columns of a table's rows.
Tensor attention_by_heads(const Tensor& qkv, const AttentionOptions& options = {});
// Of queries (batch, n_queries, heads, head_size) among keys and values (batch, n_keys, heads, 2,
// head_size).
Tensor attention_by_heads(const Tensor& q, const Tensor& kv, const AttentionOptions& options = {});

}  // namespace causeway::autograd
