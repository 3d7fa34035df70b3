// Differentiable reductions, running sums and sorting; the rules of axes and types are those of
// causeway/tensor/reduce.h and sort.h.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"

namespace causeway::autograd {

// Equal extremes share the gradient of min and max.
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
// The square root of the variance; its gradient is 0 where all elements are the same.
Tensor deviation(const Tensor& x, const std::vector<int>& axes = {}, double correction = 0,
                 bool keep_dims = false);
Tensor cumulative_sum(const Tensor& x, int axis);
// The values are tracked, the indices have no gradient.
Sorted sort(const Tensor& x, int axis = -1, bool descending = false);
Sorted topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

}  // namespace causeway::autograd
