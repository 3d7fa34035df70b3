// What attention on the CPU is made of: tiles of rows widened to f32, their products by OpenBLAS,
// and which keys a query sees.
#pragma once

#include "causeway/kernels/attention.h"
#include "causeway/kernels/device/math.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kQueries = 64;  // rows of a tile of scores
inline constexpr std::int64_t kKeys = 256;    // its columns

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// c = a b + beta c, row-major, with a or b transposed in place.
struct Product {
  bool transposed_a = false;
  bool transposed_b = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  std::int64_t leading_c = 0;
  int beta = 0;

  std::int64_t leading_a() const { return transposed_a ? rows : inner; }
  std::int64_t leading_b() const { return transposed_b ? inner : columns; }
};

void multiply(const Product& product, const float* a, const float* b, float* c);
void multiply(const Product& product, const double* a, const double* b, double* c);
// Whether several threads may call `multiply` at once.
bool multiplies_in_threads();

// One batch entry's head of an operand: rows of `head_size` neighbours.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  Rows(const Operand& operand, std::int64_t batch, std::int64_t head)
      : data(static_cast<T*>(operand.data) + batch * operand.strides[0] +
             head * operand.strides[1]),
        stride(operand.strides[2]) {}

  void load(std::int64_t begin, std::int64_t count, std::int64_t size, Wide<T>* to) const {
    for (std::int64_t row = 0; row < count; ++row) {
      const T* from = data + (begin + row) * stride;
      for (std::int64_t i = 0; i < size; ++i) to[row * size + i] = from[i];
    }
  }
  void store(std::int64_t begin, std::int64_t count, std::int64_t size, const Wide<T>* from) const {
    for (std::int64_t row = 0; row < count; ++row) {
      T* to = data + (begin + row) * stride;
      for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<T>(from[row * size + i]);
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

  // How many keys, from the first on, query `row` of batch `entry` sees.
  std::int64_t seen(std::int64_t entry, std::int64_t row) const {
    std::int64_t limit = keys;
    if (context != nullptr) limit = std::min(limit, context[entry * context_stride_]);
    if (causal) limit = std::min(limit, row + keys - queries + 1);
    return std::max<std::int64_t>(limit, 0);
  }

 private:
  std::int64_t context_stride_;
};

// Spreads units of work over the threads; a BLAS library with threads of its own (not OpenMP's) is
// only called from one.
template <class Body>
void for_units(std::int64_t count, const Body& body) {
  if (multiplies_in_threads()) return parallel_for(count, 1, body);
  if (count > 0) body(0, count);
}

// exp of what is at most about 0: probabilities below 1e-38 need not be told from 0.
CAUSEWAY_HOST_DEVICE float probability(float x) {
  return elementary::exp_within(x < -87.0f ? -87.0f : x);
}
CAUSEWAY_HOST_DEVICE double probability(double x) { return math::exp(x); }

// score[i] = exp(scale * score[i] - shift) for the first `count`, 0 up to `width`; gives the sum.
template <class C>
C exponentials(C* score, std::int64_t count, std::int64_t width, C scale, C shift) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const C value = probability(score[i] * scale - shift);
    score[i] = value;
    sum += value;
  }
  std::fill(score + count, score + width, C(0));
  return sum;
}

}  // namespace causeway::kernels::cpu
