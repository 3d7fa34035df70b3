// The keys and values of a head are packed once, and tiles of them stream past blocks of queries.
// Bound by arithmetic: 4 operations per query, key and feature, and an exponential per query and
// key.
#include "causeway/kernels/attention/attention_bf16_cpu.h"

#include "causeway/kernels/attention/tiles_cpu.h"

#include <limits>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 2 * kBf16Lines;  // queries that share a pass over the keys

// Working memory of one thread: the packed keys and values of a head, and a block of queries.
class Bf16Forward {
 public:
  Bf16Forward(const Bf16Kernels& kernels, const Sizes& sizes, double scale)
      : kernels_(kernels),
        sizes_(sizes),
        scale_(static_cast<float>(scale * kLog2OfE)),
        width_(whole_panels(sizes.head_size)),
        rows_(static_cast<std::size_t>(kBlock * width_)),
        scores_(static_cast<std::size_t>(kBlock * kKeys)),
        queries_(static_cast<std::size_t>(packed_size(kBlock, sizes.head_size))),
        probabilities_(static_cast<std::size_t>(packed_size(kBlock, kKeys))) {}

  void load_head(std::int64_t entry, const Rows<float>& k, const Rows<float>& v) {
    const std::int64_t size = sizes_.head_size;
    n_keys_ = sizes_.seen(entry, 0);
    keys_.resize(static_cast<std::size_t>(packed_size(n_keys_, size)));
    values_.resize(static_cast<std::size_t>(packed_size(size, n_keys_)));
    kernels_.pack_right(k.data, k.stride, n_keys_, size, keys_.data());
    for (std::int64_t key = 0; key < n_keys_; key += kKeys) {
      kernels_.pack_right_across(v.data + key * v.stride, v.stride, size,
                                 std::min(kKeys, n_keys_ - key), values_of(key));
    }
  }

  // Queries [begin, begin + count), at most a block. `log_sum` has one element for each.
  void attend(std::int64_t begin, std::int64_t count, const Rows<float>& q, const Rows<float>& out,
              float* log_sum, std::int64_t log_sum_step) {
    const std::int64_t size = sizes_.head_size;
    q.load(begin, count, size, rows_.data());
    for (std::int64_t i = 0; i < count * width_; ++i) rows_[static_cast<std::size_t>(i)] *= scale_;
    kernels_.pack_left(rows_.data(), width_, count, size, queries_.data());
    std::fill_n(largest_, count, std::numeric_limits<float>::lowest());
    std::fill_n(sum_, count, 0.0f);
    if (n_keys_ == 0) std::fill(rows_.begin(), rows_.end(), 0.0f);
    for (std::int64_t key = 0; key < n_keys_; key += kKeys) {
      attend_tile(count, key, std::min(kKeys, n_keys_ - key));
    }
    for (std::int64_t j = 0; j < count; ++j) scale_row(j, sum_[j] == 0 ? 0.0f : 1 / sum_[j]);
    out.store(begin, count, size, rows_.data());
    if (log_sum == nullptr) return;
    for (std::int64_t j = 0; j < count; ++j) {
      log_sum[(begin + j) * log_sum_step] =
          sum_[j] == 0 ? -std::numeric_limits<float>::infinity()
                       : largest_[j] * static_cast<float>(kLogOf2) + math::log(sum_[j]);
    }
  }

 private:
  // Adds the contribution of keys [key, key + count) to the first n_rows queries.
  void attend_tile(std::int64_t n_rows, std::int64_t key, std::int64_t count) {
    const std::int64_t size = sizes_.head_size;
    kernels_.multiply({n_rows, count, size, kKeys, false}, queries_.data(),
                      keys_.data() + key * whole_groups(size), scores_.data());
    float before[kBlock];
    float sums[kBlock];
    std::copy_n(largest_, n_rows, before);
    kernels_.pack_powers(scores_.data(), kKeys, n_rows, count, largest_, sums,
                         probabilities_.data());
    for (std::int64_t j = 0; j < n_rows; ++j) {
      const float rescale = power_of_two(before[j] - largest_[j]);
      sum_[j] = sum_[j] * rescale + sums[j];
      if (key > 0 && rescale != 1) scale_row(j, rescale);
    }
    kernels_.multiply({n_rows, size, count, width_, key > 0}, probabilities_.data(), values_of(key),
                      rows_.data());
  }

  Bf16Bits* values_of(std::int64_t key) {  // `key` is the first of a tile
    return values_.data() + key * whole_lines(sizes_.head_size);
  }

  void scale_row(std::int64_t j, float factor) {
    float* row = rows_.data() + j * width_;
    for (std::int64_t i = 0; i < sizes_.head_size; ++i) row[i] *= factor;
  }

  const Bf16Kernels& kernels_;
  const Sizes& sizes_;
  float scale_;
  std::int64_t n_keys_ = 0;  // that queries of the head attend to
  std::int64_t width_;       // head size, padded to whole panels
  std::vector<float> rows_;  // queries, then results
  std::vector<float> scores_;
  std::vector<Bf16Bits> keys_, values_, queries_, probabilities_;
  float largest_[kBlock];
  float sum_[kBlock];
};

}  // namespace

void attention_bf16(const Bf16Kernels& kernels, const Attention& how, const Operand& q,
                    const Operand& k, const Operand& v, const Operand& context, const Operand& out,
                    const Operand& log_sum) {
  const Sizes sizes(how, q, k, context);
  const std::int64_t blocks = (sizes.queries + kBlock - 1) / kBlock;
  auto* logarithms = static_cast<float*>(log_sum.data);
  parallel_for(sizes.batch * sizes.heads * blocks, 1, [&](std::int64_t first, std::int64_t last) {
    Bf16Forward forward(kernels, sizes, how.scale);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t entry = unit / blocks / sizes.heads;
      const std::int64_t head = unit / blocks % sizes.heads;
      const std::int64_t begin = unit % blocks * kBlock;
      if (unit == first || begin == 0) {
        forward.load_head(entry, Rows<float>(k, entry, head), Rows<float>(v, entry, head));
      }
      float* to = logarithms == nullptr
                      ? nullptr
                      : logarithms + entry * log_sum.strides[0] + head * log_sum.strides[1];
      forward.attend(begin, std::min(kBlock, sizes.queries - begin), Rows<float>(q, entry, head),
                     Rows<float>(out, entry, head), to, log_sum.strides[2]);
    }
  });
}

}  // namespace causeway::kernels::cpu
