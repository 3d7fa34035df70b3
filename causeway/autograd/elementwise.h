// Differentiable elementwise arithmetic. Broadcasting and dtypes are those of
// causeway/tensor/elementwise.h.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/activation/activation.h"
#include "causeway/tensor/elementwise.h"

namespace causeway::autograd {

using kernels::Activation;
using kernels::ActivationOp;

Tensor unary(UnaryOp op, const Tensor& x);
// For minimum and maximum, equal operands share the gradient.
Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b);
Tensor binary(BinaryOp op, const Tensor& a, Scalar b);
Tensor binary(BinaryOp op, Scalar a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor clamp(const Tensor& x, Scalar low, Scalar high);
Tensor activation(const Activation& how, const Tensor& x);
// silu(gate) * up for x (…, 2 * width) that holds the gates, then the values: (…, width).
Tensor swiglu(const Tensor& x);

inline Tensor add(const Tensor& a, const Tensor& b) {
  return autograd::binary(BinaryOp::add, a, b);
}
inline Tensor subtract(const Tensor& a, const Tensor& b) {
  return autograd::binary(BinaryOp::subtract, a, b);
}
inline Tensor multiply(const Tensor& a, const Tensor& b) {
  return autograd::binary(BinaryOp::multiply, a, b);
}
inline Tensor multiply(const Tensor& a, Scalar b) {
  return autograd::binary(BinaryOp::multiply, a, b);
}
inline Tensor divide(const Tensor& a, const Tensor& b) {
  return autograd::binary(BinaryOp::divide, a, b);
}
inline Tensor relu(const Tensor& x) { return autograd::unary(UnaryOp::relu, x); }
inline Tensor gelu(const Tensor& x) { return autograd::unary(UnaryOp::gelu, x); }
inline Tensor silu(const Tensor& x) { return autograd::unary(UnaryOp::silu, x); }
inline Tensor tanh(const Tensor& x) { return autograd::unary(UnaryOp::tanh, x); }
inline Tensor sigmoid(const Tensor& x) { return autograd::unary(UnaryOp::sigmoid, x); }

}  // namespace causeway::autograd
