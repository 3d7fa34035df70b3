// Convolution and pooling of images (images, channels, height, width), differentiable.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/convolution/convolution.h"

namespace causeway::autograd {

using kernels::Convolution;
using kernels::Pooling;
using kernels::PoolOp;

// weight is (out_channels, in_channels / groups, height, width), bias (out_channels,). Uses TF32 if
// set_allow_tf32 is on.
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              Convolution how = {});
Tensor pool2d(const Tensor& x, const Pooling& how);

}  // namespace causeway::autograd
