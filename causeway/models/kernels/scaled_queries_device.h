// The scale of queries, element by element.
#pragma once

#include "causeway/kernels/math_device.h"
#include "causeway/kernels/half_device.h"

#include <cstdint>

namespace causeway::kernels {

inline constexpr int kScaleSums = 16;  // partial sums of one scale's gradient

template <class T>
struct QueryScale {
  const T* slope;
  const T* offset;
  const std::int64_t* n_keys;

  CAUSEWAY_HOST_DEVICE Compute<T> of(std::int64_t table, std::int64_t head) const {
    const std::int64_t n = n_keys[table] > 1 ? n_keys[table] : 1;
    return static_cast<Compute<T>>(slope[head]) * math::log(static_cast<Compute<T>>(n)) +
           static_cast<Compute<T>>(offset[head]);
  }
};

// Where the queries of a packed tensor are. A vector of a query is `item` (row and column), head
// and position.
struct QueryLayout {
  std::int64_t n_tables;
  std::int64_t n_items;  // rows * columns of a table
  std::int64_t n_heads;
  std::int64_t n_parts;
  std::int64_t size;

  CAUSEWAY_HOST_DEVICE std::int64_t at(std::int64_t table, std::int64_t item,
                                       std::int64_t head) const {
    return ((table * n_items + item) * n_heads + head) * n_parts * size;
  }
  // The items of a partial sum.
  CAUSEWAY_HOST_DEVICE std::int64_t first_item(std::int64_t sum) const {
    return n_items * sum / kScaleSums;
  }
};

}  // namespace causeway::kernels
