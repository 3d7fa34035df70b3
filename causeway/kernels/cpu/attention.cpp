// Attention on the CPU: tiles of keys stream past a tile of queries, their products by OpenBLAS,
// the halves widened to f32 a tile at a time. Bound by arithmetic: 4 operations for each query, key
// and feature.
#include "causeway/kernels/attention.h"

#include "causeway/kernels/cpu/attention_tiles.h"
#include "causeway/kernels/dispatch.h"

#include <limits>
#include <vector>

#include <cblas.h>

namespace causeway::kernels::cpu {

#define CAUSEWAY_PRODUCT(type, gemm)                                                  \
  void multiply(const Product& p, const type* a, const type* b, type* c) {            \
    gemm(CblasRowMajor, p.transposed_a ? CblasTrans : CblasNoTrans,                   \
         p.transposed_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(p.rows),    \
         static_cast<blasint>(p.columns), static_cast<blasint>(p.inner), 1, a,        \
         static_cast<blasint>(p.leading_a()), b, static_cast<blasint>(p.leading_b()), \
         static_cast<type>(p.beta), c, static_cast<blasint>(p.leading_c));            \
  }
CAUSEWAY_PRODUCT(float, cblas_sgemm)
CAUSEWAY_PRODUCT(double, cblas_dgemm)
#undef CAUSEWAY_PRODUCT

bool multiplies_in_threads() { return openblas_get_parallel() == OPENBLAS_OPENMP; }

namespace {

template <class C>
void scale_row(C* row, std::int64_t count, C factor) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
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
    multiply(scores, tile.q.data(), tile.k.data(), tile.score.data());
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t seen = sizes.seen(entry, begin + row) - key;
      tile.soften(row, std::clamp<std::int64_t>(seen, 0, width), width, size, scale);
    }
    const Product values{false, false, count, size, width, size, 1};
    multiply(values, tile.score.data(), tile.v.data(), tile.out.data());
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

}  // namespace

void attention(StreamView, const Attention& how, const Operand& q, const Operand& k,
               const Operand& v, const Operand& context, const Operand& out,
               const Operand& log_sum) {
  dispatch_floating(q.dtype, [&](auto tag) {
    forward<typename decltype(tag)::type>(how, q, k, v, context, out, log_sum);
  });
}

}  // namespace causeway::kernels::cpu
