// Dispatch from an operation to its functor: calls `body` with it.
#pragma once

#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/elementwise/elementwise.h"

namespace causeway::kernels {

// Operations on any number type.
template <class Body>
void visit_number_op(UnaryOp op, const Body& body) {
  switch (op) {
    case UnaryOp::negate: return body(functors::Negate());
    case UnaryOp::absolute: return body(functors::Absolute());
    case UnaryOp::sign: return body(functors::Sign());
    case UnaryOp::square: return body(functors::Square());
    default: return body(functors::Relu());
  }
}

// Operations on floating types only.
template <class Body>
void visit_floating_op(UnaryOp op, const Body& body) {
  switch (op) {
    case UnaryOp::square_root: return body(functors::SquareRoot());
    case UnaryOp::reciprocal_root: return body(functors::ReciprocalRoot());
    case UnaryOp::reciprocal: return body(functors::Reciprocal());
    case UnaryOp::exp: return body(functors::Exp());
    case UnaryOp::expm1: return body(functors::Expm1());
    case UnaryOp::log: return body(functors::Log());
    case UnaryOp::log1p: return body(functors::Log1p());
    case UnaryOp::log2: return body(functors::Log2());
    case UnaryOp::sin: return body(functors::Sin());
    case UnaryOp::cos: return body(functors::Cos());
    case UnaryOp::tan: return body(functors::Tan());
    case UnaryOp::tanh: return body(functors::Tanh());
    case UnaryOp::erf: return body(functors::Erf());
    case UnaryOp::sigmoid: return body(functors::Sigmoid());
    case UnaryOp::silu: return body(functors::Silu());
    case UnaryOp::gelu: return body(functors::Gelu());
    case UnaryOp::gelu_tanh: return body(functors::GeluTanh());
    case UnaryOp::floor: return body(functors::Floor());
    case UnaryOp::ceil: return body(functors::Ceil());
    case UnaryOp::round: return body(functors::Round());
    default: return body(functors::Trunc());
  }
}

template <class Body>
void visit(BinaryOp op, const Body& body) {
  switch (op) {
    case BinaryOp::add: return body(functors::Add());
    case BinaryOp::subtract: return body(functors::Subtract());
    case BinaryOp::multiply: return body(functors::Multiply());
    case BinaryOp::divide: return body(functors::Divide());
    case BinaryOp::power: return body(functors::Power());
    case BinaryOp::remainder: return body(functors::Remainder());
    case BinaryOp::minimum: return body(functors::Minimum());
    case BinaryOp::maximum: return body(functors::Maximum());
  }
}

template <class Body>
void visit(CompareOp op, const Body& body) {
  switch (op) {
    case CompareOp::equal: return body(functors::Equal());
    case CompareOp::not_equal: return body(functors::NotEqual());
    case CompareOp::less: return body(functors::Less());
    case CompareOp::less_equal: return body(functors::LessEqual());
    case CompareOp::greater: return body(functors::Greater());
    case CompareOp::greater_equal: return body(functors::GreaterEqual());
    case CompareOp::logical_and: return body(functors::LogicalAnd());
    case CompareOp::logical_or: return body(functors::LogicalOr());
    case CompareOp::logical_xor: return body(functors::LogicalXor());
  }
}

template <class Body>
void visit(PredicateOp op, const Body& body) {
  switch (op) {
    case PredicateOp::is_nan: return body(functors::IsNan());
    case PredicateOp::is_inf: return body(functors::IsInf());
    case PredicateOp::is_finite: return body(functors::IsFinite());
    case PredicateOp::logical_not: return body(functors::LogicalNot());
  }
}

}  // namespace causeway::kernels
