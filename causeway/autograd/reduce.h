// Differentiable reductions, cumulative sums and sorting; semantics as in causeway/tensor/reduce.h
// and sort.h.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"

namespace causeway::autograd {

// For min and max, equal extremes share the gradient.
Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int>& axes = {},
              bool keep_dims = false);
inline Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return autograd::reduce(ReduceOp::sum, x, axes, keep_dims);
}
inline Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return autograd::reduce(ReduceOp::mean, x, axes, keep_dims);
}
Tensor variance(const Tensor& x, const std::vector<int>& axes = {}, double correction = 0,
                bool keep_dims = false);
// Standard deviation; its gradient is 0 where all elements are equal.
Tensor deviation(const Tensor& x, const std::vector<int>& axes = {}, double correction = 0,
                 bool keep_dims = false);
Tensor cumulative_sum(const Tensor& x, int axis);
// Values are tracked; indices have no gradient.
Sorted sort(const Tensor& x, int axis = -1, bool descending = false);
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

}  // namespace causeway::autograd
