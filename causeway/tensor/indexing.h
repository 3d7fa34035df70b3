// Taking tensors apart and putting them together.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/tensor/tensor.h"

#include <span>
#include <utility>
#include <vector>

namespace causeway {

using kernels::Scalar;

// Along an existing axis; types are promoted.
Tensor concatenate(std::span<const Tensor> tensors, int axis = 0);
// Along a new axis.
Tensor stack(std::span<const Tensor> tensors, int axis = 0);
// Views of `size` entries each, the last perhaps shorter.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
// Views of the given sizes, which add up to the axis.
std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis = 0);
// Adds entries before and behind each axis; `widths` has a pair for each.
Tensor pad(const Tensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
           Scalar value = 0);

// Indices are integers in 0 … size-1; others are an error, on a GPU at the next synchronisation.

// The entries of `axis` that a 1-D `index` names.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
// out[…, k, …] = x[…, index[…, k, …], …]; `index` has x's shape but along `axis`.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// A copy of `x` with out[…, index[…, k, …], …] = source[…, k, …]; of several writes to one place
// the last stands.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
// The same, adding to what is there, in order.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

}  // namespace causeway
