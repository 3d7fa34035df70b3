// Elementwise functions of neural networks: activations and losses with parameters, and the
// derivatives of these and of the unary operations. The operands of a call have one floating dtype
// and one shape, are contiguous and aligned to 16 bytes; a gradient may also be one repeated number
// (strides 0).
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

enum class ActivationOp : std::uint8_t {
  leaky_relu,    // x, or a * x below 0
  elu,           // b * x, or b * a * (exp(x) - 1) below 0
  softplus,      // log(1 + exp(a * x)) / a; x itself where a * x > b
  hard_sigmoid,  // x / 6 + 1/2 within [0, 1]
  hard_swish,    // x * hard_sigmoid(x)
  hard_tanh,     // x within [a, b]
};

enum class LossOp : std::uint8_t {
  squared,   // (prediction - target)^2
  absolute,  // |prediction - target|
  huber,     // quadratic within `parameter`, linear beyond
  pinball,   // of quantile `parameter`
};

std::string_view to_string(ActivationOp op);
std::string_view to_string(LossOp op);

struct Activation {
  ActivationOp op = ActivationOp::leaky_relu;
  double a = 0;
  double b = 0;
};

struct Loss {
  LossOp op = LossOp::squared;
  double parameter = 0;
};

// Whether the derivative is computed from the operation's result instead of its input.
bool derives_from_result(UnaryOp op);
// out = gradient * derivative; `saved` is the result or the input, see derives_from_result.
CAUSEWAY_KERNEL(unary_gradient, UnaryOp op, const Operand& saved, const Operand& gradient,
                const Operand& out);

CAUSEWAY_KERNEL(activation, const Activation& how, const Operand& in, const Operand& out);
CAUSEWAY_KERNEL(activation_gradient, const Activation& how, const Operand& in,
                const Operand& gradient, const Operand& out);

CAUSEWAY_KERNEL(loss, const Loss& how, const Operand& prediction, const Operand& target,
                const Operand& out);
// With respect to the prediction; the gradient with respect to the target is the negative.
CAUSEWAY_KERNEL(loss_gradient, const Loss& how, const Operand& prediction, const Operand& target,
                const Operand& gradient, const Operand& out);

}  // namespace causeway::kernels
