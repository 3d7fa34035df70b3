// Reductions over any axes; no axes means all.
#pragma once

#include "causeway/kernels/reduce/reduce.h"
#include "causeway/tensor/tensor.h"

#include <optional>
#include <vector>

namespace causeway {

using kernels::ReduceOp;

// sum and prod of integers and bool are i64, their mean is f32. min, max, argmin and argmax of
// empty input are an error.
Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int>& axes = {},
              bool keep_dims = false);
inline Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return reduce(ReduceOp::sum, x, axes, keep_dims);
}
inline Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return reduce(ReduceOp::mean, x, axes, keep_dims);
}
inline Tensor min(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return reduce(ReduceOp::min, x, axes, keep_dims);
}
inline Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false) {
  return reduce(ReduceOp::max, x, axes, keep_dims);
}

// Sum of squared deviations from the mean, divided by count - correction.
Tensor variance(const Tensor& x, const std::vector<int>& axes = {}, double correction = 0,
                bool keep_dims = false);
// Returns bool.
Tensor any(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false);
Tensor all(const Tensor& x, const std::vector<int>& axes = {}, bool keep_dims = false);

// Indices along `axis`, i64; without an axis, into the flattened tensor. The first of equals; NaN
// takes precedence.
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keep_dims = false);
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keep_dims = false);

Tensor cumulative_sum(const Tensor& x, int axis);

}  // namespace causeway
