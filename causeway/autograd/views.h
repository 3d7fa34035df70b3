// Differentiable views and copies; semantics as the members of Tensor.
#pragma once

#include "causeway/autograd/tape.h"

#include <span>

namespace causeway::autograd {

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop = Tensor::kEnd,
             std::int64_t step = 1);
Tensor select(const Tensor& x, int axis, std::int64_t index);
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);
Tensor permute(const Tensor& x, std::span<const int> axes);
Tensor expand(const Tensor& x, const Shape& shape);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int axis);
Tensor unsqueeze(const Tensor& x, int axis);
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor contiguous(const Tensor& x);
Tensor clone(const Tensor& x);
Tensor to(const Tensor& x, Device device);
Tensor to(const Tensor& x, DType dtype);

}  // namespace causeway::autograd
