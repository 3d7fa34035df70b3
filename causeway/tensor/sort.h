// Sorting along an axis.
#pragma once

#include "causeway/tensor/tensor.h"

namespace causeway {

struct Sorted {
  Tensor values;
  Tensor indices;  // i64: where each value stood along the axis
};

// Stable; NaN counts as larger than everything.
Sorted sort(const Tensor& x, int axis = -1, bool descending = false);
// The `k` first of the sorted order: the largest, or the smallest, in order.
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

}  // namespace causeway
