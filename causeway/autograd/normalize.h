// Differentiable softmax and normalisation. Floating tensors only.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/norm/norm.h"

namespace causeway::autograd {

using kernels::NormOp;

Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

// Over the last axis; weight and bias have its size.
Tensor layer_norm(const Tensor& x, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double epsilon = 1e-5);
Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight = {}, double epsilon = 1e-5);

// The sum of a residual stream and a branch, and its norm, in one pass over memory.
struct AddNorm {
  Tensor sum;
  Tensor normed;
};
AddNorm add_norm(NormOp op, const Tensor& x, const Tensor& residual,
                 const std::optional<Tensor>& weight = {}, const std::optional<Tensor>& bias = {},
                 double epsilon = 1e-5);

// Normalises each channel of (images, channels, ...) by batch statistics if `training` (and updates
// the running statistics, f32 of size channels), otherwise by the running ones.
struct BatchNormState {
  Tensor running_mean;
  Tensor running_variance;
};
Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const std::optional<BatchNormState>& state,
                  bool training, double momentum = 0.1, double epsilon = 1e-5);

}  // namespace causeway::autograd
