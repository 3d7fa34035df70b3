// The gradients of attention on the CPU: the scores of a tile are recomputed. Every sum runs in the
// order of the tiles, for any number of threads. Bound by arithmetic: 10 operations per query, key
// and feature.
#include "causeway/kernels/attention/attention.h"

#include "causeway/kernels/attention/tiles_cpu.h"
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

// Which gradients a pass over tiles of queries and keys computes.
struct Wanted {
  bool q = true;
  bool keys = true;
};

// Working memory of one thread: keys, values and their gradients for the whole sequence, and a tile
// of queries.
template <class T>
class Backward {
 public:
  using C = Wide<T>;

  Backward(const Sizes& sizes, C scale)
      : sizes_(sizes),
        scale_(scale),
        width_(whole_panels(sizes.head_size)),
        q_(static_cast<std::size_t>(kQueries * width_)),
        gradient_(q_.size()),
        q_sum_(q_.size()),
        transposed_q_(q_.size()),
        transposed_gradient_(q_.size()),
        score_(static_cast<std::size_t>(kQueries * kKeys)),
        slope_(score_.size()),
        transposed_slope_(score_.size()) {}

  // Loads keys from `first` on, a multiple of kKeys; n_given of them have gradients.
  void load_keys(const GradientOperands<T>& of, std::int64_t entry, std::int64_t first,
                 std::int64_t count, std::int64_t n_given) {
    of_ = &of;
    entry_ = entry;
    first_ = first;
    const std::int64_t size = sizes_.head_size;
    k_.resize(static_cast<std::size_t>(count * width_));
    transposed_k_.resize(static_cast<std::size_t>(whole_panels(count) * size));
    transposed_v_.resize(transposed_k_.size());
    of.k.load(first, count, size, k_.data());
    of.k.load_transposed(first, count, size, transposed_k_.data());
    of.v.load_transposed(first, count, size, transposed_v_.data());
    k_sum_.assign(static_cast<std::size_t>(n_given * width_), C(0));
    v_sum_.assign(k_sum_.size(), C(0));
  }

  void load_queries(std::int64_t begin, std::int64_t count) {
    const std::int64_t size = sizes_.head_size;
    begin_ = begin;
    count_ = count;
    std::fill_n(q_sum_.begin(), count * width_, C(0));
    of_->out.load(begin, count, size, q_.data());
    of_->gradient.load(begin, count, size, gradient_.data());
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t at = row * width_;
      row_dot_[row] = dot(gradient_.data() + at, q_.data() + at, width_);
    }
    of_->q.load(begin, count, size, q_.data());
    of_->q.load_transposed(begin, count, size, transposed_q_.data());
    of_->gradient.load_transposed(begin, count, size, transposed_gradient_.data());
  }

  // Adds the contributions of the queries to the gradients of keys [key, end) and to their own.
  void add(std::int64_t key, std::int64_t end, Wanted wanted) {
    for (; key < end; key += kKeys) add_tile(key - first_, std::min(kKeys, end - key), wanted);
  }

  void store_queries() { of_->q_gradient.store(begin_, count_, sizes_.head_size, q_sum_.data()); }
  void store_keys(std::int64_t count) {
    of_->k_gradient.store(first_, count, sizes_.head_size, k_sum_.data());
    of_->v_gradient.store(first_, count, sizes_.head_size, v_sum_.data());
  }

 private:
  // `key` is relative to the first loaded key.
  void add_tile(std::int64_t key, std::int64_t n_keys, Wanted wanted) {
    const std::int64_t size = sizes_.head_size;
    const auto transposed = [&](const std::vector<C>& of, std::int64_t from) {
      return Panels<C>::packed(of.data() + from * size, size);
    };
    const auto lines = [&](const std::vector<C>& of, std::int64_t from) {
      return Panels<C>::of_lines(of.data() + from * width_, width_);
    };
    const Product inner{count_, whole_panels(n_keys), size, kKeys, false};
    multiply(inner, transposed(transposed_q_, 0), transposed(transposed_k_, key), score_.data());
    multiply(inner, transposed(transposed_gradient_, 0), transposed(transposed_v_, key),
             slope_.data());
    for (std::int64_t row = 0; row < count_; ++row) apply_softmax(row, first_ + key, n_keys);
    if (wanted.keys) {
      const Product by_key{n_keys, width_, count_, width_, true};
      multiply(by_key, Panels<C>::of_lines(score_.data(), kKeys), lines(gradient_, 0),
               v_sum_.data() + key * width_);
      multiply(by_key, Panels<C>::of_lines(slope_.data(), kKeys), lines(q_, 0),
               k_sum_.data() + key * width_);
    }
    if (wanted.q) {
      pack_transposed(slope_.data(), kKeys, n_keys, count_, transposed_slope_.data());
      multiply<C>({count_, width_, n_keys, width_, true},
                  Panels<C>::packed(transposed_slope_.data(), n_keys), lines(k_, key),
                  q_sum_.data());
    }
  }

  // Replaces scores by probabilities, and the gradients of those by the gradients of the scores.
  void apply_softmax(std::int64_t row, std::int64_t key, std::int64_t n_keys) {
    C* score = score_.data() + row * kKeys;
    C* slope = slope_.data() + row * kKeys;
    const std::int64_t query = begin_ + row;
    const std::int64_t seen = std::clamp<std::int64_t>(sizes_.seen(entry_, query) - key, 0, n_keys);
    const C log_sum = of_->log_sum[query * of_->log_sum_stride] * C(kLog2OfE);
    const C scale = scale_ * C(kLog2OfE);
    const C row_dot = row_dot_[row];
    // Whole panels, so that there is no remainder; masked keys are reset afterwards.
    for (std::int64_t i = 0; i < seen; i += kPanel) {
#pragma omp simd
      for (std::int64_t j = i; j < i + kPanel; ++j) {
        score[j] = power_of_two(score[j] * scale - log_sum);
        slope[j] = score[j] * (slope[j] - row_dot) * scale_;
      }
    }
    std::fill(score + seen, score + whole_panels(n_keys), C(0));
    std::fill(slope + seen, slope + whole_panels(n_keys), C(0));
  }

  const Sizes& sizes_;
  C scale_;
  std::int64_t width_;  // head size, padded to whole panels
  const GradientOperands<T>* of_ = nullptr;
  std::int64_t entry_ = 0;
  std::int64_t first_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
  std::vector<C> q_, gradient_, q_sum_, transposed_q_, transposed_gradient_;
  std::vector<C> score_, slope_, transposed_slope_;
  std::vector<C> k_, transposed_k_, transposed_v_, k_sum_, v_sum_;
  C row_dot_[kQueries];
};

// All three gradients of one head in one pass.
template <class T>
void gradients_of_head(const Sizes& sizes, std::int64_t entry, const GradientOperands<T>& operands,
                       Backward<T>& backward) {
  backward.load_keys(operands, entry, 0, sizes.seen(entry, sizes.queries - 1), sizes.keys);
  for (std::int64_t begin = 0; begin < sizes.queries; begin += kQueries) {
    const std::int64_t count = std::min(kQueries, sizes.queries - begin);
    backward.load_queries(begin, count);
    backward.add(0, sizes.seen(entry, begin + count - 1), {});
    backward.store_queries();
  }
  backward.store_keys(sizes.keys);
}

// The gradients of one tile of queries.
template <class T>
void gradients_of_queries(const Sizes& sizes, std::int64_t entry, std::int64_t begin,
                          const GradientOperands<T>& operands, Backward<T>& backward) {
  const std::int64_t count = std::min(kQueries, sizes.queries - begin);
  const std::int64_t end = sizes.seen(entry, begin + count - 1);
  backward.load_keys(operands, entry, 0, end, 0);
  backward.load_queries(begin, count);
  backward.add(0, end, {true, false});
  backward.store_queries();
}

// The gradients of one tile of keys and of their values.
template <class T>
void gradients_of_keys(const Sizes& sizes, std::int64_t entry, std::int64_t key,
                       const GradientOperands<T>& operands, Backward<T>& backward) {
  const std::int64_t n_keys = std::min(kKeys, sizes.keys - key);
  backward.load_keys(operands, entry, key, n_keys, n_keys);
  for (std::int64_t begin = 0; begin < sizes.queries; begin += kQueries) {
    const std::int64_t count = std::min(kQueries, sizes.queries - begin);
    const std::int64_t end = std::min(key + n_keys, sizes.seen(entry, begin + count - 1));
    if (end <= key) continue;
    backward.load_queries(begin, count);
    backward.add(key, end, {false, true});
  }
  backward.store_keys(n_keys);
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
    // With fewer heads than threads, the tiles of a head are distributed, at the cost of computing
    // its scores twice. Either way every sum runs in the order of the tiles: the bits are equal.
    if (heads >= thread_count()) {
      return parallel_for(heads, 1, [&](std::int64_t first, std::int64_t last) {
        Backward<T> backward(sizes, scale);
        for (std::int64_t unit = first; unit < last; ++unit) {
          const std::int64_t entry = unit / sizes.heads;
          gradients_of_head(sizes, entry, operands_of(entry, unit % sizes.heads), backward);
        }
      });
    }
    const std::int64_t query_tiles = (sizes.queries + kQueries - 1) / kQueries;
    const std::int64_t key_tiles = (sizes.keys + kKeys - 1) / kKeys;
    const std::int64_t tiles = query_tiles + key_tiles;
    parallel_for(heads * tiles, 1, [&](std::int64_t first, std::int64_t last) {
      Backward<T> backward(sizes, scale);
      for (std::int64_t unit = first; unit < last; ++unit) {
        const std::int64_t entry = unit / tiles / sizes.heads;
        const auto operands = operands_of(entry, unit / tiles % sizes.heads);
        const std::int64_t at = unit % tiles;
        if (at < query_tiles) {
          gradients_of_queries(sizes, entry, at * kQueries, operands, backward);
        } else {
          gradients_of_keys(sizes, entry, (at - query_tiles) * kKeys, operands, backward);
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
