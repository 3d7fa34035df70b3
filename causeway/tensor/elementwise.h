// Elementwise arithmetic with NumPy broadcasting. Operands of different types are promoted to a
// common one (core/dtype.h). A scalar takes the tensor's type; a fractional scalar makes an integer
// tensor f32.
#pragma once

#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/tensor/tensor.h"

namespace causeway {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::PredicateOp;
using kernels::Scalar;
using kernels::UnaryOp;

// Integers are converted to f32 if the operation needs floating-point values.
Tensor unary(UnaryOp op, const Tensor& x);
// True division of integers gives f32.
Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b);
Tensor binary(BinaryOp op, const Tensor& a, Scalar b);
Tensor binary(BinaryOp op, Scalar a, const Tensor& b);
// Returns bool.
Tensor compare(CompareOp op, const Tensor& a, const Tensor& b);
Tensor compare(CompareOp op, const Tensor& a, Scalar b);
Tensor predicate(PredicateOp op, const Tensor& x);

// condition ? a : b; all three broadcast, the condition is converted to bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor clamp(const Tensor& x, Scalar low, Scalar high);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return binary(BinaryOp::add, a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return binary(BinaryOp::subtract, a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return binary(BinaryOp::multiply, a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) { return binary(BinaryOp::divide, a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return binary(BinaryOp::add, a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return binary(BinaryOp::subtract, a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return binary(BinaryOp::multiply, a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return binary(BinaryOp::divide, a, b); }
inline Tensor operator-(const Tensor& x) { return unary(UnaryOp::negate, x); }
inline Tensor exp(const Tensor& x) { return unary(UnaryOp::exp, x); }
inline Tensor log(const Tensor& x) { return unary(UnaryOp::log, x); }
inline Tensor sqrt(const Tensor& x) { return unary(UnaryOp::square_root, x); }
inline Tensor tanh(const Tensor& x) { return unary(UnaryOp::tanh, x); }
inline Tensor relu(const Tensor& x) { return unary(UnaryOp::relu, x); }
inline Tensor gelu(const Tensor& x) { return unary(UnaryOp::gelu, x); }

}  // namespace causeway
