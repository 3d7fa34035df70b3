// Attention on the CPU: the keys and values of a head are packed once, and tiles of them stream
// past tiles of queries, all in f32 or f64. Bound by arithmetic: 4 operations per query, key and
// feature, and an exponential per query and key.
#include "causeway/kernels/attention/attention.h"

#include "causeway/kernels/attention/attention_bf16_cpu.h"
#include "causeway/kernels/attention/tiles_cpu.h"
#include "causeway/kernels/dispatch.h"

#include <limits>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

// NaNs are ignored.
float larger(float a, float b) { return elementary::at_least(a, b); }
double larger(double a, double b) { return a > b ? a : b; }

// Working memory of one thread: the keys and values of a head, and a panel of queries stored side
// by side. Their scores, maxima and sums are vectors; no sum runs across a vector.
template <class T>
class Forward {
 public:
  using C = Wide<T>;

  Forward(const Sizes& sizes, double scale)
      : sizes_(sizes),
        scale_(static_cast<C>(scale * kLog2OfE)),
        width_(whole_panels(sizes.head_size)),
        queries_(static_cast<std::size_t>(kPanel * sizes.head_size)),
        scores_(static_cast<std::size_t>(kPanel * kKeys)),
        out_(static_cast<std::size_t>(kPanel * width_)) {}

  void load_head(std::int64_t entry, const Rows<T>& k, const Rows<T>& v) {
    entry_ = entry;
    const std::int64_t size = sizes_.head_size;
    const std::int64_t count = sizes_.seen(entry, sizes_.queries - 1);
    keys_.resize(static_cast<std::size_t>(whole_panels(count) * size));
    values_.resize(static_cast<std::size_t>(count * width_));
    k.load_transposed(0, count, size, keys_.data());
    v.load(0, count, size, values_.data());
  }

  // Queries [begin, begin + count), at most a panel. `log_sum` has one element for each.
  void attend(std::int64_t begin, std::int64_t count, const Rows<T>& q, const Rows<T>& out,
              C* log_sum, std::int64_t log_sum_step) {
    const std::int64_t size = sizes_.head_size;
    q.load_transposed(begin, count, size, queries_.data());
    for (C& x : queries_) x *= scale_;
    std::fill_n(largest_, kPanel, std::numeric_limits<C>::lowest());
    std::fill_n(sum_, kPanel, C(0));
    const std::int64_t end = sizes_.seen(entry_, begin + count - 1);
    for (std::int64_t key = 0; key < end; key += kKeys) {
      attend_tile(begin, key, std::min(kKeys, end - key));
    }
    C factor[kPanel];
    for (std::int64_t j = 0; j < kPanel; ++j) factor[j] = sum_[j] == 0 ? C(0) : 1 / sum_[j];
    if (end == 0) std::fill(out_.begin(), out_.end(), C(0));
    scale_rows(factor);
    out.store(begin, count, size, out_.data());
    if (log_sum == nullptr) return;
    for (std::int64_t j = 0; j < count; ++j) {
      log_sum[(begin + j) * log_sum_step] = sum_[j] == 0
                                                ? -std::numeric_limits<C>::infinity()
                                                : largest_[j] * C(kLogOf2) + math::log(sum_[j]);
    }
  }

 private:
  // Adds the contribution of keys [key, key + count).
  void attend_tile(std::int64_t begin, std::int64_t key, std::int64_t count) {
    const std::int64_t size = sizes_.head_size;
    multiply<C>({count, kPanel, size, kPanel, false},
                Panels<C>::packed(keys_.data() + key * size, size),
                Panels<C>::packed(queries_.data(), size), scores_.data());
    C rescale[kPanel];
    std::copy_n(largest_, kPanel, rescale);
    find_largest(begin, key, count);
    for (std::int64_t j = 0; j < kPanel; ++j) rescale[j] = power_of_two(rescale[j] - largest_[j]);
    apply_softmax(begin, key, count, rescale);
    if (key > 0) scale_rows(rescale);
    multiply<C>({kPanel, width_, count, width_, key > 0}, Panels<C>::packed(scores_.data(), count),
                Panels<C>::of_lines(values_.data() + key * width_, width_), out_.data());
  }

  // Calls body(score, j) for the visible scores of query j, and sets the others to 0.
  template <class Body>
  void for_visible(std::int64_t begin, std::int64_t key, std::int64_t count, const Body& body) {
    const std::int64_t visible_to_all = std::min(count, sizes_.seen(entry_, begin) - key);
    C* score = scores_.data();
    std::int64_t i = 0;
    for (; i < visible_to_all; ++i, score += kPanel) {
#pragma omp simd
      for (std::int64_t j = 0; j < kPanel; ++j) body(score[j], j);
    }
    for (; i < count; ++i, score += kPanel) {
      for (std::int64_t j = 0; j < kPanel; ++j) {
        if (key + i < sizes_.seen(entry_, begin + j)) {
          body(score[j], j);
        } else {
          score[j] = C(0);
        }
      }
    }
  }

  void find_largest(std::int64_t begin, std::int64_t key, std::int64_t count) {
    C largest[kPanel];
    std::copy_n(largest_, kPanel, largest);
    for_visible(begin, key, count, [&](C& score, std::int64_t j) CAUSEWAY_INLINE {
      largest[j] = larger(score, largest[j]);
    });
    std::copy_n(largest, kPanel, largest_);
  }

  // Replaces scores by exponentials and adds them to the sums, after rescaling those.
  void apply_softmax(std::int64_t begin, std::int64_t key, std::int64_t count, const C* rescale) {
    C sum[kPanel];
    C largest[kPanel];
    for (std::int64_t j = 0; j < kPanel; ++j) sum[j] = sum_[j] * rescale[j];
    std::copy_n(largest_, kPanel, largest);
    for_visible(begin, key, count, [&](C& score, std::int64_t j) CAUSEWAY_INLINE {
      score = power_of_two(score - largest[j]);
      sum[j] += score;
    });
    std::copy_n(sum, kPanel, sum_);
  }

  void scale_rows(const C* factor) {
    for (std::int64_t j = 0; j < kPanel; ++j) {
      C* row = out_.data() + j * width_;
      for (std::int64_t i = 0; i < width_; ++i) row[i] *= factor[j];
    }
  }

  const Sizes& sizes_;
  C scale_;
  std::int64_t entry_ = 0;
  std::int64_t width_;  // head size, padded to whole panels
  std::vector<C> keys_, values_, queries_, scores_, out_;
  C largest_[kPanel];
  C sum_[kPanel];
};

template <class T>
void forward(const Attention& how, const Operand& q, const Operand& k, const Operand& v,
             const Operand& context, const Operand& out, const Operand& log_sum) {
  using C = Wide<T>;
  const Sizes sizes(how, q, k, context);
  const std::int64_t panels = (sizes.queries + kPanel - 1) / kPanel;
  auto* logarithms = static_cast<C*>(log_sum.data);
  parallel_for(sizes.batch * sizes.heads * panels, 1, [&](std::int64_t first, std::int64_t last) {
    Forward<T> forward(sizes, how.scale);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t entry = unit / panels / sizes.heads;
      const std::int64_t head = unit / panels % sizes.heads;
      const std::int64_t begin = unit % panels * kPanel;
      if (unit == first || begin == 0) {
        forward.load_head(entry, Rows<T>(k, entry, head), Rows<T>(v, entry, head));
      }
      C* to = logarithms == nullptr
                  ? nullptr
                  : logarithms + entry * log_sum.strides[0] + head * log_sum.strides[1];
      forward.attend(begin, std::min(kPanel, sizes.queries - begin), Rows<T>(q, entry, head),
                     Rows<T>(out, entry, head), to, log_sum.strides[2]);
    }
  });
}

}  // namespace

void attention(StreamView, const Attention& how, const Operand& q, const Operand& k,
               const Operand& v, const Operand& context, const Operand& out,
               const Operand& log_sum) {
  const Bf16Kernels* bf16 = Bf16Products::kernels();
  if (bf16 != nullptr && q.dtype == DType::f32 && how.mask == AttentionMask::full) {
    return attention_bf16(*bf16, how, q, k, v, context, out, log_sum);
  }
  dispatch_floating(q.dtype, [&](auto tag) {
    forward<typename decltype(tag)::type>(how, q, k, v, context, out, log_sum);
  });
}

}  // namespace causeway::kernels::cpu
