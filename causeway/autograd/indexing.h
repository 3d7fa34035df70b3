// Differentiable joining, splitting and indexing; semantics as in causeway/tensor/indexing.h.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/tensor/indexing.h"

namespace causeway::autograd {

Tensor concatenate(std::span<const Tensor> tensors, int axis = 0);
Tensor stack(std::span<const Tensor> tensors, int axis = 0);
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis = 0);
Tensor pad(const Tensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
           Scalar value = 0);
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// Overwritten sources have no gradient.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
// Rows of a table (n_entries, width) for integers of any shape: (..., width).
Tensor embedding(const Tensor& table, const Tensor& index);

}  // namespace causeway::autograd
