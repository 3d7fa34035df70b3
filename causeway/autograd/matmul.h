// Differentiable matrix products and linear layers.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

Tensor matmul(const Tensor& a, const Tensor& b);

// x (..., in) times the transpose of weight (out, in), plus bias (out): (..., out), in one kernel.
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {});

// linear(gelu_tanh(linear(x, weight_in, bias_in)), weight_out, bias_out), with the activation and
// its derivative fused into the products; with both biases or none. Unless `keep_hidden`, the
// hidden activation is computed again in the backward pass.
Tensor mlp(const Tensor& x, const Tensor& weight_in, const std::optional<Tensor>& bias_in,
           const Tensor& weight_out, const std::optional<Tensor>& bias_out,
           bool keep_hidden = true);

}  // namespace causeway::autograd
