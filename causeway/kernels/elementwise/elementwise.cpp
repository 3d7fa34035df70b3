#include "causeway/kernels/elementwise/elementwise.h"

namespace causeway::kernels {

std::string_view to_string(UnaryOp op) {
  switch (op) {
    case UnaryOp::negate: return "negate";
    case UnaryOp::absolute: return "absolute";
    case UnaryOp::sign: return "sign";
    case UnaryOp::square: return "square";
    case UnaryOp::relu: return "relu";
    case UnaryOp::square_root: return "sqrt";
    case UnaryOp::reciprocal_root: return "rsqrt";
    case UnaryOp::reciprocal: return "reciprocal";
    case UnaryOp::exp: return "exp";
    case UnaryOp::expm1: return "expm1";
    case UnaryOp::log: return "log";
    case UnaryOp::log1p: return "log1p";
    case UnaryOp::log2: return "log2";
    case UnaryOp::sin: return "sin";
    case UnaryOp::cos: return "cos";
    case UnaryOp::tan: return "tan";
    case UnaryOp::tanh: return "tanh";
    case UnaryOp::erf: return "erf";
    case UnaryOp::sigmoid: return "sigmoid";
    case UnaryOp::silu: return "silu";
    case UnaryOp::gelu: return "gelu";
    case UnaryOp::gelu_tanh: return "gelu_tanh";
    case UnaryOp::floor: return "floor";
    case UnaryOp::ceil: return "ceil";
    case UnaryOp::round: return "round";
    case UnaryOp::trunc: return "trunc";
  }
  return "unary";
}

std::string_view to_string(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return "add";
    case BinaryOp::subtract: return "subtract";
    case BinaryOp::multiply: return "multiply";
    case BinaryOp::divide: return "divide";
    case BinaryOp::power: return "power";
    case BinaryOp::remainder: return "remainder";
    case BinaryOp::minimum: return "minimum";
    case BinaryOp::maximum: return "maximum";
  }
  return "binary";
}

std::string_view to_string(CompareOp op) {
  switch (op) {
    case CompareOp::equal: return "equal";
    case CompareOp::not_equal: return "not_equal";
    case CompareOp::less: return "less";
    case CompareOp::less_equal: return "less_equal";
    case CompareOp::greater: return "greater";
    case CompareOp::greater_equal: return "greater_equal";
    case CompareOp::logical_and: return "logical_and";
    case CompareOp::logical_or: return "logical_or";
    case CompareOp::logical_xor: return "logical_xor";
  }
  return "compare";
}

std::string_view to_string(PredicateOp op) {
  switch (op) {
    case PredicateOp::is_nan: return "isnan";
    case PredicateOp::is_inf: return "isinf";
    case PredicateOp::is_finite: return "isfinite";
    case PredicateOp::logical_not: return "logical_not";
  }
  return "predicate";
}

IntegerRange range_of(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
  const auto high = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
  return {is_signed(dtype) ? -high - 1 : 0, high};
}

bool fits(Scalar value, DType dtype) {
  if (!is_integer(dtype)) return true;
  if (!value.is_integer && !(value.real >= -9.2e18 && value.real <= 9.2e18)) return false;
  const IntegerRange range = range_of(dtype);
  return value.integer >= range.low && value.integer <= range.high;
}

}  // namespace causeway::kernels
