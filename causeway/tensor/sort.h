// Sorting along an axis.
#pragma once

#include "causeway/tensor/tensor.h"

namespace causeway {

struct Sorted {
  Tensor values;
  Tensor indices;  // i64: index of each value along the axis
};

// Stable; NaN sorts as the largest value.
Sorted sort(const Tensor& x, int axis = -1, bool descending = false);
// The first `k` entries of the sorted order: the largest, or the smallest.
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

}  // namespace causeway
