// The scale of queries on the CPU.
#include "causeway/models/kernels/scaled_queries.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

namespace causeway::kernels::cpu {

namespace {

// Scales a query of `gradient`; returns the product of both.
template <class T>
Compute<T> scale_gradient(const T* query, T* gradient, Compute<T> scale, std::int64_t size) {
  Compute<T> sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto g = static_cast<Compute<T>>(gradient[i]);
    sum += g * static_cast<Compute<T>>(query[i]);
    gradient[i] = static_cast<T>(g * scale);
  }
  return sum;
}

}  // namespace

void scale_queries(StreamView, const Operand& packed, const Operand& slope, const Operand& offset,
                   const Operand& n_keys) {
  const QueryLayout layout = query_layout(packed, slope);
  dispatch_floating(packed.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto scale = query_scale<T>(slope, offset, n_keys);
    auto* values = static_cast<T*>(packed.data);
    parallel_for(layout.n_tables * layout.n_items, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t head = 0; head < layout.n_heads; ++head) {
          const Compute<T> by = scale.of(i / layout.n_items, head);
          T* query = values + layout.at(i / layout.n_items, i % layout.n_items, head);
          for (std::int64_t k = 0; k < layout.size; ++k) {
            query[k] = static_cast<T>(static_cast<Compute<T>>(query[k]) * by);
          }
        }
      }
    });
  });
}

void scale_queries_gradient(StreamView, const Operand& packed, const Operand& slope,
                            const Operand& offset, const Operand& n_keys, const Operand& gradient,
                            const Operand& sums) {
  const QueryLayout layout = query_layout(packed, slope);
  dispatch_floating(packed.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto scale = query_scale<T>(slope, offset, n_keys);
    const auto* queries = static_cast<const T*>(packed.data);
    auto* gradients = static_cast<T*>(gradient.data);
    auto* out = static_cast<Compute<T>*>(sums.data);
    const std::int64_t n_sums = layout.n_tables * kScaleSums * layout.n_heads;
    parallel_for(n_sums, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t head = i % layout.n_heads;
        const std::int64_t piece = i / layout.n_heads % kScaleSums;
        const std::int64_t table = i / layout.n_heads / kScaleSums;
        const Compute<T> by = scale.of(table, head);
        Compute<T> sum = 0;
        for (std::int64_t item = layout.first_item(piece); item < layout.first_item(piece + 1);
             ++item) {
          const std::int64_t at = layout.at(table, item, head);
          sum += scale_gradient(queries + at, gradients + at, by, layout.size);
        }
        out[i] = by == 0 ? 0 : sum / by;
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
