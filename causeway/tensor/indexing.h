// Joining, splitting and indexing of tensors.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/tensor/tensor.h"

#include <span>
#include <utility>
#include <vector>

namespace causeway {

using kernels::Scalar;

// Along an existing axis; dtypes are promoted.
Tensor concatenate(std::span<const Tensor> tensors, int axis = 0);
// Along a new axis.
Tensor stack(std::span<const Tensor> tensors, int axis = 0);
// Views of `size` entries each; the last may be shorter.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
// Views of the given sizes, which must add up to the size of the axis.
std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis = 0);
// Adds entries before and after each axis; `widths` has one pair per axis.
Tensor pad(const Tensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
           Scalar value = 0);

// Indices are integers in 0 ... size-1. Others are an error, on a GPU at the next synchronisation.

// Selects the entries of `axis` given by a 1-D `index`.
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
// out[..., k, ...] = x[..., index[..., k, ...], ...]; `index` has x's shape except along `axis`.
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// A copy of `x` with out[..., index[..., k, ...], ...] = source[..., k, ...]. If several sources
// write to one place, the last one wins.
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
// Like scatter, but adds to the existing value, in order.
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);

}  // namespace causeway
