// Dispatch from an activation, loss or unary operation to its functor or derivative: calls `body`
// with it.
#pragma once

#include "causeway/kernels/activation/activation.h"
#include "causeway/kernels/activation/derivatives_device.h"

namespace causeway::kernels {

template <class T, class Body>
void visit(const Activation& how, const Body& body) {
  const auto a = static_cast<T>(how.a);
  const auto b = static_cast<T>(how.b);
  switch (how.op) {
    case ActivationOp::leaky_relu: return body(derivatives::LeakyRelu<T>{a, b});
    case ActivationOp::elu: return body(derivatives::Elu<T>{a, b});
    case ActivationOp::softplus: return body(derivatives::Softplus<T>{a, b});
    case ActivationOp::hard_sigmoid: return body(derivatives::HardSigmoid<T>{a, b});
    case ActivationOp::hard_swish: return body(derivatives::HardSwish<T>{a, b});
    case ActivationOp::hard_tanh: return body(derivatives::HardTanh<T>{a, b});
  }
}

template <class T, class Body>
void visit(const Loss& how, const Body& body) {
  const auto parameter = static_cast<T>(how.parameter);
  switch (how.op) {
    case LossOp::squared: return body(derivatives::Squared<T>{parameter});
    case LossOp::absolute: return body(derivatives::AbsoluteError<T>{parameter});
    case LossOp::huber: return body(derivatives::Huber<T>{parameter});
    case LossOp::pinball: return body(derivatives::Pinball<T>{parameter});
  }
}

template <class Body>
void visit_derivative(UnaryOp op, const Body& body) {
  switch (op) {
    case UnaryOp::negate: return body(derivatives::Negate());
    case UnaryOp::absolute: return body(derivatives::Absolute());
    case UnaryOp::square: return body(derivatives::Square());
    case UnaryOp::relu: return body(derivatives::Relu());
    case UnaryOp::square_root: return body(derivatives::SquareRoot());
    case UnaryOp::reciprocal_root: return body(derivatives::ReciprocalRoot());
    case UnaryOp::reciprocal: return body(derivatives::Reciprocal());
    case UnaryOp::exp: return body(derivatives::Exp());
    case UnaryOp::expm1: return body(derivatives::Expm1());
    case UnaryOp::log: return body(derivatives::Log());
    case UnaryOp::log1p: return body(derivatives::Log1p());
    case UnaryOp::log2: return body(derivatives::Log2());
    case UnaryOp::sin: return body(derivatives::Sin());
    case UnaryOp::cos: return body(derivatives::Cos());
    case UnaryOp::tan: return body(derivatives::Tan());
    case UnaryOp::tanh: return body(derivatives::Tanh());
    case UnaryOp::erf: return body(derivatives::Erf());
    case UnaryOp::sigmoid: return body(derivatives::Sigmoid());
    case UnaryOp::silu: return body(derivatives::Silu());
    case UnaryOp::gelu: return body(derivatives::Gelu());
    case UnaryOp::gelu_tanh: return body(derivatives::GeluTanh());
    default: return body(derivatives::Zero());  // sign and rounding
  }
}

}  // namespace causeway::kernels
