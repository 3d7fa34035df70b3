// The scale of queries in attention between rows, learned per head as a function of the number of
// keys: slope * log(n_keys) + offset. The products of long contexts then stay sharp.
#pragma once

#include "causeway/models/kernels/scaled_queries_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// `packed` is (tables, rows, columns * heads, parts, size), contiguous, with the queries in part 0;
// `slope` and `offset` are (heads,) of its dtype; n_keys is (tables,) i64.

// Multiplies the queries in place.
CAUSEWAY_KERNEL(scale_queries, const Operand& packed, const Operand& slope, const Operand& offset,
                const Operand& n_keys);

// Given the scaled queries in `packed`, multiplies the queries of `gradient`, of its shape, in
// place. `sums` (tables, kScaleSums, heads), of the compute type, are parts of the gradient of each
// scale.
CAUSEWAY_KERNEL(scale_queries_gradient, const Operand& packed, const Operand& slope,
                const Operand& offset, const Operand& n_keys, const Operand& gradient,
                const Operand& sums);

inline QueryLayout query_layout(const Operand& packed, const Operand& slope) {
  const std::int64_t n_heads = slope.shape[0];
  return {packed.shape[0], packed.shape[1] * packed.shape[2] / n_heads, n_heads, packed.shape[3],
          packed.shape[4]};
}

template <class T>
QueryScale<T> query_scale(const Operand& slope, const Operand& offset, const Operand& n_keys) {
  return {static_cast<const T*>(slope.data), static_cast<const T*>(offset.data),
          static_cast<const std::int64_t*>(n_keys.data)};
}

}  // namespace causeway::kernels
