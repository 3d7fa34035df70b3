// Index arrays of a subscript: lists or tensors of integers, and boolean masks.
#pragma once

#include "causeway/tensor/tensor.h"

#include <vector>

namespace causeway::python {

// The coordinates of the nonzero elements, one tensor (n,) of i64 per axis, in row-major order.
// Waits for the device, since their number depends on the data.
std::vector<Tensor> nonzero(const Tensor& x);

// An index array and the axis it selects from.
struct IndexArray {
  Tensor index;  // integers; negative ones count from the end
  int axis = 0;
};

// Selects elements by arrays that are broadcast to one shape, in place of the axis of the first
// array, or in front if `in_front`. Differentiable.
Tensor take_arrays(const Tensor& x, const std::vector<IndexArray>& arrays, bool in_front);

}  // namespace causeway::python
