// Attention on the CPU: tiles of keys stream past a tile of queries, their products by OpenBLAS,
// the halves widened to f32 a tile at a time. Every sum runs in the order of the tiles, whatever
// the number of threads. Bound by arithmetic: 4 (forward) and 10 (backward) operations for each
// query, key and feature.
#include "causeway/kernels/attention.h"

#include "causeway/kernels/device/math.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <cblas.h>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kQueries = 64;  // rows of a tile of scores
constexpr std::int64_t kKeys = 256;    // its columns

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

  blasint leading_a() const { return static_cast<blasint>(transposed_a ? rows : inner); }
  blasint leading_b() const { return static_cast<blasint>(transposed_b ? inner : columns); }
};

#define CAUSEWAY_PRODUCT(type, gemm)                                                         \
  void multiply(const Product& p, const type* a, blasint leading_a, const type* b,           \
                blasint leading_b, type* c) {                                                \
    gemm(CblasRowMajor, p.transposed_a ? CblasTrans : CblasNoTrans,                          \
         p.transposed_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(p.rows),           \
         static_cast<blasint>(p.columns), static_cast<blasint>(p.inner), 1, a, leading_a, b, \
         leading_b, static_cast<type>(p.beta), c, static_cast<blasint>(p.leading_c));        \
  }
CAUSEWAY_PRODUCT(float, cblas_sgemm)
CAUSEWAY_PRODUCT(double, cblas_dgemm)
#undef CAUSEWAY_PRODUCT

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
  if (openblas_get_parallel() == OPENBLAS_OPENMP) return parallel_for(count, 1, body);
  if (count > 0) body(0, count);
}

template <class C>
C dot(const C* a, const C* b, std::int64_t count) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <class C>
void scale_row(C* row, std::int64_t count, C factor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
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

// What one thread works in; its size depends on the tiles and the head alone.
template <class C>
struct ForwardTile {
  std::vector<C> q, k, v, score, out, largest, sum;

  explicit ForwardTile(std::int64_t size)
      : q(static_cast<std::size_t>(kQueries * size)),
        k(static_cast<std::size_t>(kKeys * size)),
        v(k.size()),
        score(static_cast<std::size_t>(kQueries * kKeys)),
        out(q.size()),
        largest(static_cast<std::size_t>(kQueries)),
        sum(largest.size()) {}

  // Turns row `row` of the scores into exponentials, of which the first `count` are seen.
  void soften(std::int64_t row, std::int64_t count, std::int64_t width, std::int64_t size,
              C scale) {
    C* scores = score.data() + row * width;
    const auto at = static_cast<std::size_t>(row);
    C highest = largest[at];
#pragma omp simd reduction(max : highest)
    for (std::int64_t i = 0; i < count; ++i) highest = std::max(highest, scores[i] * scale);
    const C added = exponentials(scores, count, width, scale, highest);
    if (count == 0) return;
    const C kept = sum[at] == 0 ? C(0) : math::exp(largest[at] - highest);
    sum[at] = sum[at] * kept + added;
    if (kept != 1) scale_row(out.data() + row * size, size, kept);
    largest[at] = highest;
  }
};

template <class T>
void attend(ForwardTile<Wide<T>>& tile, const Sizes& sizes, Wide<T> scale, std::int64_t entry,
            std::int64_t begin, std::int64_t count, const Rows<T>& q, const Rows<T>& k,
            const Rows<T>& v) {
  using C = Wide<T>;
  const std::int64_t size = sizes.head_size;
  std::fill(tile.sum.begin(), tile.sum.end(), C(0));
  std::fill(tile.out.begin(), tile.out.end(), C(0));
  std::fill(tile.largest.begin(), tile.largest.end(), -std::numeric_limits<C>::infinity());
  q.load(begin, count, size, tile.q.data());
  const std::int64_t end = sizes.seen(entry, begin + count - 1);
  for (std::int64_t key = 0; key < end; key += kKeys) {
    const std::int64_t width = std::min(kKeys, end - key);
    k.load(key, width, size, tile.k.data());
    v.load(key, width, size, tile.v.data());
    const Product scores{false, true, count, width, size, width, 0};
    multiply(scores, tile.q.data(), scores.leading_a(), tile.k.data(), scores.leading_b(),
             tile.score.data());
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t seen = sizes.seen(entry, begin + row) - key;
      tile.soften(row, std::clamp<std::int64_t>(seen, 0, width), width, size, scale);
    }
    const Product values{false, false, count, size, width, size, 1};
    multiply(values, tile.score.data(), values.leading_a(), tile.v.data(), values.leading_b(),
             tile.out.data());
  }
}

template <class T>
void forward(const Attention& how, const Operand& q, const Operand& k, const Operand& v,
             const Operand& context, const Operand& out, const Operand& log_sum) {
  using C = Wide<T>;
  const Sizes sizes(how, q, k, context);
  const std::int64_t size = sizes.head_size;
  const std::int64_t tiles = (sizes.queries + kQueries - 1) / kQueries;
  auto* logarithms = static_cast<C*>(log_sum.data);
  for_units(sizes.batch * sizes.heads * tiles, [&](std::int64_t first, std::int64_t last) {
    ForwardTile<C> tile(size);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t entry = unit / tiles / sizes.heads;
      const std::int64_t head = unit / tiles % sizes.heads;
      const std::int64_t begin = unit % tiles * kQueries;
      const std::int64_t count = std::min(kQueries, sizes.queries - begin);
      attend<T>(tile, sizes, static_cast<C>(how.scale), entry, begin, count,
                Rows<T>(q, entry, head), Rows<T>(k, entry, head), Rows<T>(v, entry, head));
      for (std::int64_t row = 0; row < count; ++row) {
        const auto at = static_cast<std::size_t>(row);
        const C sum = tile.sum[at];
        scale_row(tile.out.data() + row * size, size, sum == 0 ? C(0) : 1 / sum);
        if (logarithms == nullptr) continue;
        logarithms[entry * log_sum.strides[0] + head * log_sum.strides[1] +
                   (begin + row) * log_sum.strides[2]] =
            sum == 0 ? -std::numeric_limits<C>::infinity() : tile.largest[at] + math::log(sum);
      }
      Rows<T>(out, entry, head).store(begin, count, size, tile.out.data());
    }
  });
}

template <class T>
struct GradientOperands {
  Rows<T> q, k, v, out, gradient, q_gradient, k_gradient, v_gradient;
  const Wide<T>* log_sum;
  std::int64_t log_sum_stride;
};

// One thread's memory for the gradients of one head: the running sums of either side are as long
// as the sequence, everything else is a tile.
template <class C>
struct BackwardTile {
  std::vector<C> q, gradient, out, k, v, score, slope, row_dot, q_sum, k_sum, v_sum;

  explicit BackwardTile(std::int64_t size)
      : q(static_cast<std::size_t>(kQueries * size)),
        gradient(q.size()),
        out(q.size()),
        k(static_cast<std::size_t>(kKeys * size)),
        v(k.size()),
        score(static_cast<std::size_t>(kQueries * kKeys)),
        slope(score.size()),
        row_dot(static_cast<std::size_t>(kQueries)) {}
};

// Which sums a walk over tiles of queries and keys adds to.
struct Wanted {
  bool q = true;
  bool keys = true;
};

template <class T>
class Backward {
 public:
  using C = Wide<T>;

  Backward(const Sizes& sizes, C scale, std::int64_t entry, const GradientOperands<T>& operands,
           BackwardTile<C>& tile)
      : sizes_(sizes), scale_(scale), entry_(entry), operands_(operands), tile_(tile) {}

  void load_queries(std::int64_t begin, std::int64_t count) {
    const std::int64_t size = sizes_.head_size;
    operands_.q.load(begin, count, size, tile_.q.data());
    operands_.gradient.load(begin, count, size, tile_.gradient.data());
    operands_.out.load(begin, count, size, tile_.out.data());
    for (std::int64_t row = 0; row < count; ++row) {
      tile_.row_dot[static_cast<std::size_t>(row)] =
          dot(tile_.gradient.data() + row * size, tile_.out.data() + row * size, size);
    }
  }

  void load_keys(std::int64_t begin, std::int64_t count) {
    operands_.k.load(begin, count, sizes_.head_size, tile_.k.data());
    operands_.v.load(begin, count, sizes_.head_size, tile_.v.data());
  }

  // What the loaded tiles of queries and keys add to the sums; keys no query sees are left alone.
  void add(std::int64_t begin, std::int64_t count, std::int64_t key, Wanted wanted, C* q_sum,
           C* k_sum, C* v_sum) {
    const std::int64_t size = sizes_.head_size;
    const std::int64_t width = std::min(kKeys, sizes_.seen(entry_, begin + count - 1) - key);
    const Product inner{false, true, count, width, size, width, 0};
    multiply(inner, tile_.q.data(), inner.leading_a(), tile_.k.data(), inner.leading_b(),
             tile_.score.data());
    multiply(inner, tile_.gradient.data(), inner.leading_a(), tile_.v.data(), inner.leading_b(),
             tile_.slope.data());
    for (std::int64_t row = 0; row < count; ++row) soften(begin + row, row, key, width);
    const Product by_key{true, false, width, size, count, size, 1};
    if (wanted.keys) {
      multiply(by_key, tile_.score.data(), static_cast<blasint>(width), tile_.gradient.data(),
               by_key.leading_b(), v_sum);
      multiply(by_key, tile_.slope.data(), static_cast<blasint>(width), tile_.q.data(),
               by_key.leading_b(), k_sum);
    }
    const Product by_query{false, false, count, size, width, size, 1};
    if (wanted.q) {
      multiply(by_query, tile_.slope.data(), by_query.leading_a(), tile_.k.data(),
               by_query.leading_b(), q_sum);
    }
  }

 private:
  // Scores to probabilities, and the gradients of those to the gradients of the scores.
  void soften(std::int64_t query, std::int64_t row, std::int64_t key, std::int64_t width) {
    C* score = tile_.score.data() + row * width;
    C* slope = tile_.slope.data() + row * width;
    const std::int64_t seen = std::clamp<std::int64_t>(sizes_.seen(entry_, query) - key, 0, width);
    exponentials(score, seen, width, scale_, operands_.log_sum[query * operands_.log_sum_stride]);
    const C row_dot = tile_.row_dot[static_cast<std::size_t>(row)];
#pragma omp simd
    for (std::int64_t i = 0; i < seen; ++i) slope[i] = score[i] * (slope[i] - row_dot) * scale_;
    std::fill(slope + seen, slope + width, C(0));
  }

  const Sizes& sizes_;
  C scale_;
  std::int64_t entry_;
  const GradientOperands<T>& operands_;
  BackwardTile<C>& tile_;
};

template <class C>
C* cleared(std::vector<C>& values, std::int64_t count) {
  values.assign(static_cast<std::size_t>(count), C(0));
  return values.data();
}

// All three gradients of one head in one walk; the sums of the keys are held for the whole length.
template <class T>
void gradients_of_head(const Sizes& sizes, Wide<T> scale, std::int64_t entry,
                       const GradientOperands<T>& operands, BackwardTile<Wide<T>>& tile) {
  const std::int64_t size = sizes.head_size;
  Backward<T> backward(sizes, scale, entry, operands, tile);
  auto* k_sum = cleared(tile.k_sum, sizes.keys * size);
  auto* v_sum = cleared(tile.v_sum, sizes.keys * size);
  for (std::int64_t begin = 0; begin < sizes.queries; begin += kQueries) {
    const std::int64_t count = std::min(kQueries, sizes.queries - begin);
    auto* q_sum = cleared(tile.q_sum, kQueries * size);
    backward.load_queries(begin, count);
    const std::int64_t end = sizes.seen(entry, begin + count - 1);
    for (std::int64_t key = 0; key < end; key += kKeys) {
      backward.load_keys(key, std::min(kKeys, end - key));
      backward.add(begin, count, key, {}, q_sum, k_sum + key * size, v_sum + key * size);
    }
    operands.q_gradient.store(begin, count, size, q_sum);
  }
  operands.k_gradient.store(0, sizes.keys, size, k_sum);
  operands.v_gradient.store(0, sizes.keys, size, v_sum);
}

// The gradients of one tile of queries.
template <class T>
void gradients_of_queries(const Sizes& sizes, Wide<T> scale, std::int64_t entry, std::int64_t begin,
                          const GradientOperands<T>& operands, BackwardTile<Wide<T>>& tile) {
  const std::int64_t size = sizes.head_size;
  const std::int64_t count = std::min(kQueries, sizes.queries - begin);
  Backward<T> backward(sizes, scale, entry, operands, tile);
  auto* q_sum = cleared(tile.q_sum, kQueries * size);
  backward.load_queries(begin, count);
  const std::int64_t end = sizes.seen(entry, begin + count - 1);
  for (std::int64_t key = 0; key < end; key += kKeys) {
    backward.load_keys(key, std::min(kKeys, end - key));
    backward.add(begin, count, key, {true, false}, q_sum, nullptr, nullptr);
  }
  operands.q_gradient.store(begin, count, size, q_sum);
}

// The gradients of one tile of keys and of their values.
template <class T>
void gradients_of_keys(const Sizes& sizes, Wide<T> scale, std::int64_t entry, std::int64_t key,
                       const GradientOperands<T>& operands, BackwardTile<Wide<T>>& tile) {
  const std::int64_t size = sizes.head_size;
  const std::int64_t width = std::min(kKeys, sizes.keys - key);
  Backward<T> backward(sizes, scale, entry, operands, tile);
  auto* k_sum = cleared(tile.k_sum, kKeys * size);
  auto* v_sum = cleared(tile.v_sum, kKeys * size);
  backward.load_keys(key, width);
  for (std::int64_t begin = 0; begin < sizes.queries; begin += kQueries) {
    const std::int64_t count = std::min(kQueries, sizes.queries - begin);
    if (sizes.seen(entry, begin + count - 1) <= key) continue;
    backward.load_queries(begin, count);
    backward.add(begin, count, key, {false, true}, nullptr, k_sum, v_sum);
  }
  operands.k_gradient.store(key, width, size, k_sum);
  operands.v_gradient.store(key, width, size, v_sum);
}

}  // namespace

void attention(StreamView, const Attention& how, const Operand& q, const Operand& k,
               const Operand& v, const Operand& context, const Operand& out,
               const Operand& log_sum) {
  dispatch_floating(q.dtype, [&](auto tag) {
    forward<typename decltype(tag)::type>(how, q, k, v, context, out, log_sum);
  });
}

void attention_gradient(StreamView, const Attention& how, const Operand& q, const Operand& k,
                        const Operand& v, const Operand& context, const Operand& out,
                        const Operand& log_sum, const Operand& gradient, const Operand& q_gradient,
                        const Operand& k_gradient, const Operand& v_gradient) {
  const Sizes sizes(how, q, k, context);
  const std::int64_t heads = sizes.batch * sizes.heads;
  dispatch_floating(q.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    const auto scale = static_cast<C>(how.scale);
    const auto operands_of = [&](std::int64_t entry, std::int64_t head) {
      const auto* logarithms = static_cast<const C*>(log_sum.data) + entry * log_sum.strides[0] +
                               head * log_sum.strides[1];
      const auto rows = [&](const Operand& operand) { return Rows<T>(operand, entry, head); };
      return GradientOperands<T>{
          rows(q),          rows(k),          rows(v),          rows(out),  rows(gradient),
          rows(q_gradient), rows(k_gradient), rows(v_gradient), logarithms, log_sum.strides[2]};
    };
    // With fewer heads than threads the tiles of a head are shared out, at the price of computing
    // its scores twice. Either way every sum runs in the order of the tiles: the bits are the same.
    if (heads >= thread_count()) {
      return for_units(heads, [&](std::int64_t first, std::int64_t last) {
        BackwardTile<C> tile(sizes.head_size);
        for (std::int64_t unit = first; unit < last; ++unit) {
          const std::int64_t entry = unit / sizes.heads;
          gradients_of_head<T>(sizes, scale, entry, operands_of(entry, unit % sizes.heads), tile);
        }
      });
    }
    const std::int64_t query_tiles = (sizes.queries + kQueries - 1) / kQueries;
    const std::int64_t key_tiles = (sizes.keys + kKeys - 1) / kKeys;
    const std::int64_t tiles = query_tiles + key_tiles;
    for_units(heads * tiles, [&](std::int64_t first, std::int64_t last) {
      BackwardTile<C> tile(sizes.head_size);
      for (std::int64_t unit = first; unit < last; ++unit) {
        const std::int64_t entry = unit / tiles / sizes.heads;
        const auto operands = operands_of(entry, unit / tiles % sizes.heads);
        const std::int64_t at = unit % tiles;
        if (at < query_tiles) {
          gradients_of_queries<T>(sizes, scale, entry, at * kQueries, operands, tile);
        } else {
          gradients_of_keys<T>(sizes, scale, entry, (at - query_tiles) * kKeys, operands, tile);
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
