// How tensors are handed to kernels. For the rooms that launch them.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/operand.h"
#include "causeway/tensor/tensor.h"

#include <string_view>
#include <vector>

namespace causeway {

// The tensor as a kernel sees it; its memory is kept from reuse until `stream`'s work is done.
kernels::Operand operand(const Tensor& tensor, StreamView stream);

// The tensor around one axis; it must be contiguous.
kernels::Cube cube_around(const Tensor& tensor, int axis);

// Throws unless all tensors are on one device.
void require_same_device(std::string_view operation, const Tensor& a, const Tensor& b);

// Throws unless the number is a value of the dtype.
void require_fits(std::string_view operation, kernels::Scalar value, DType dtype);

// The axes of a reduction, sorted and without repetition; none given means all.
std::vector<int> normalize_axes(std::string_view operation, const std::vector<int>& axes,
                                int n_dims);

}  // namespace causeway
