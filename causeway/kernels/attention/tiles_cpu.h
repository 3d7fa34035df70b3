// Shared by attention on the CPU: rows of a head widened to f32 and packed for products, and the
// number of keys a query attends to. Scores are multiplied by log2(e), so that exponentials are
// powers of two.
#pragma once

#include "causeway/kernels/attention/attention.h"
#include "causeway/kernels/matmul/power_of_two.h"
#include "causeway/kernels/matmul/product_cpu.h"
#include "causeway/kernels/loop_cpu.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kQueries = 64;  // rows of a tile of scores
inline constexpr std::int64_t kKeys = 128;    // its columns

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// One head of a batch entry of an operand: rows of `head_size` adjacent elements.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  Rows(const Operand& operand, std::int64_t batch, std::int64_t head)
      : data(static_cast<T*>(operand.data) + batch * operand.strides[0] +
             head * operand.strides[1]),
        stride(operand.strides[2]) {}

  // Loads rows [begin, begin + count) of `size` elements, padded with zeros to whole panels.
  void load(std::int64_t begin, std::int64_t count, std::int64_t size, Wide<T>* to) const {
    const std::int64_t width = whole_panels(size);
    for (std::int64_t row = begin; row < begin + count; ++row, to += width) {
      const T* from = data + row * stride;
      __builtin_prefetch(from + 8 * stride);  // rows far apart defeat the hardware prefetcher
      __builtin_prefetch(from + 8 * stride + size - 1);
      for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<Wide<T>>(from[i]);
      for (std::int64_t i = size; i < width; ++i) to[i] = Wide<T>(0);
    }
  }
  // Loads the same rows side by side: `size` lines of panels.
  void load_transposed(std::int64_t begin, std::int64_t count, std::int64_t size,
                       Wide<T>* to) const {
    if constexpr (std::is_same_v<T, Wide<T>>) {
      pack_transposed(data + begin * stride, stride, size, count, to);
    } else {
      std::vector<Wide<T>> wide(static_cast<std::size_t>(count * whole_panels(size)));
      load(begin, count, size, wide.data());
      pack_transposed(wide.data(), whole_panels(size), size, count, to);
    }
  }
  void store(std::int64_t begin, std::int64_t count, std::int64_t size, const Wide<T>* from) const {
    const std::int64_t width = whole_panels(size);
    for (std::int64_t row = begin; row < begin + count; ++row, from += width) {
      T* to = data + row * stride;
      for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<T>(from[i]);
    }
  }
};

struct Sizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_size = 0;
  bool causal = false;
  const std::int64_t* context = nullptr;

  Sizes(const Attention& how, const Operand& q, const Operand& k, const Operand& context_operand)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        head_size(q.shape[3]),
        causal(how.mask == AttentionMask::causal),
        context(static_cast<const std::int64_t*>(context_operand.data)),
        context_stride_(context != nullptr ? context_operand.strides[0] : 0) {}

  // The number of keys, from the first on, that query `row` of batch `entry` attends to.
  std::int64_t seen(std::int64_t entry, std::int64_t row) const {
    std::int64_t limit = keys;
    if (context != nullptr) limit = std::min(limit, context[entry * context_stride_]);
    if (causal) limit = std::min(limit, row + keys - queries + 1);
    return std::max<std::int64_t>(limit, 0);
  }

 private:
  std::int64_t context_stride_;
};

}  // namespace causeway::kernels::cpu
