// Conversion of tensors to kernel operands, for code that launches kernels.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/operand.h"
#include "causeway/tensor/tensor.h"

#include <string_view>
#include <vector>

namespace causeway {

// The kernel view of a tensor; its memory is not reused until the work on `stream` is done.
kernels::Operand operand(const Tensor& tensor, StreamView stream);

// A contiguous tensor as (outer, axis, inner).
kernels::Cube cube_around(const Tensor& tensor, int axis);

// Throws if the tensors are on different devices.
void require_same_device(std::string_view operation, const Tensor& a, const Tensor& b);

// Throws if the value is not representable in the dtype.
void require_fits(std::string_view operation, kernels::Scalar value, DType dtype);

// The axes of a reduction, sorted and unique; empty means all axes.
std::vector<int> normalize_axes(std::string_view operation, const std::vector<int>& axes,
                                int n_dims);

}  // namespace causeway
