// Parameters of the attention kernels: sizes, mask, and the location of each head's rows.
#pragma once

#include "causeway/kernels/attention/paths.h"
#include "causeway/kernels/elementwise/elementwise.cuh"

#include <cstdint>

namespace causeway::kernels::cuda {

inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kLn2 = 0.693147181f;

// The rows of one head: `head_size` adjacent elements each.
template <class T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t stride = 0;

  __device__ __forceinline__ T* operator[](int row) const { return data + row * stride; }
};

// A (batch, heads, rows, ...) operand.
template <class T>
struct HeadView {
  T* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;

  HeadView() = default;
  explicit HeadView(const Operand& operand) : data(static_cast<T*>(operand.data)) {
    if (data == nullptr) return;
    batch_stride = operand.strides[0];
    head_stride = operand.strides[1];
    row_stride = operand.strides[2];
  }
  __device__ __forceinline__ HeadRows<T> of(std::int64_t entry, int head) const {
    return {data + entry * batch_stride + head * head_stride, row_stride};
  }
};

struct AttentionShape {
  std::int64_t n_sequences = 0;  // batch entries times heads
  int n_heads = 0;
  int n_queries = 0;
  int n_keys = 0;
  int head_size = 0;
  bool causal = false;
  bool vectors = false;  // all rows can be read and written 16 bytes at a time
  double scale = 1;
  const std::int64_t* context = nullptr;
  std::int64_t context_stride = 0;

  // The number of visible keys of a batch entry.
  __device__ __forceinline__ int limit(std::int64_t entry) const {
    if (context == nullptr) return n_keys;
    const std::int64_t given = context[entry * context_stride];
    return given < 0 ? 0 : (given < n_keys ? static_cast<int>(given) : n_keys);
  }
  // The number of keys, from the first on, that a query attends to; may be negative.
  __device__ __forceinline__ int seen(int query, int limit) const {
    if (!causal) return limit;
    const int before = query + n_keys - n_queries + 1;
    return before < limit ? before : limit;
  }
};

inline AttentionShape attention_shape(const Attention& how, const Operand& q, const Operand& k,
                                      const Operand& context, bool vectors) {
  AttentionShape shape;
  shape.n_sequences = q.shape[0] * q.shape[1];
  shape.n_heads = static_cast<int>(q.shape[1]);
  shape.n_queries = static_cast<int>(q.shape[2]);
  shape.n_keys = static_cast<int>(k.shape[2]);
  shape.head_size = static_cast<int>(q.shape[3]);
  shape.causal = how.mask == AttentionMask::causal;
  shape.scale = how.scale;
  shape.vectors = vectors;
  shape.context = static_cast<const std::int64_t*>(context.data);
  shape.context_stride = context.data != nullptr ? context.strides[0] : 0;
  return shape;
}

// All operands of a gradient.
template <class T, class Sum = float>
struct GradientViews {
  HeadView<const T> q, k, v, out, gradient;
  HeadView<const Sum> log_sum;
  HeadView<T> q_gradient, k_gradient, v_gradient;
};

template <class T, class Sum = float>
GradientViews<T, Sum> gradient_views(const AttentionCall& call,
                                     const AttentionGradients& gradients) {
  return {HeadView<const T>(call.q),
          HeadView<const T>(call.k),
          HeadView<const T>(call.v),
          HeadView<const T>(call.out),
          HeadView<const T>(gradients.gradient),
          HeadView<const Sum>(call.log_sum),
          HeadView<T>(gradients.q),
          HeadView<T>(gradients.k),
          HeadView<T>(gradients.v)};
}

}  // namespace causeway::kernels::cuda
