// The gradients of attention on the CPU: the scores of a tile are computed again, and every sum
// runs in the order of the tiles, whatever the number of threads. Bound by arithmetic: 10
// operations for each query, key and feature.
#include "causeway/kernels/attention.h"

#include "causeway/kernels/cpu/attention_tiles.h"
#include "causeway/kernels/dispatch.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

template <class C>
C dot(const C* a, const C* b, std::int64_t count) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
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
    multiply(inner, tile_.q.data(), tile_.k.data(), tile_.score.data());
    multiply(inner, tile_.gradient.data(), tile_.v.data(), tile_.slope.data());
    for (std::int64_t row = 0; row < count; ++row) soften(begin + row, row, key, width);
    const Product by_key{true, false, width, size, count, size, 1};
    if (wanted.keys) {
      multiply(by_key, tile_.score.data(), tile_.gradient.data(), v_sum);
      multiply(by_key, tile_.slope.data(), tile_.q.data(), k_sum);
    }
    const Product by_query{false, false, count, size, width, size, 1};
    if (wanted.q) {
      multiply(by_query, tile_.slope.data(), tile_.k.data(), q_sum);
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
