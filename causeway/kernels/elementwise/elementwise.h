// Elementwise kernels. The operands of a call have the same shape (broadcast dimensions have stride
// 0) and, unless noted, the same dtype; any strides.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

enum class UnaryOp : std::uint8_t {
  // for any number
  negate,
  absolute,
  sign,
  square,
  relu,
  // for floating types
  square_root,
  reciprocal_root,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  log2,
  sin,
  cos,
  tan,
  tanh,
  erf,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  floor,
  ceil,
  round,
  trunc,
};

enum class BinaryOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  power,
  remainder,
  minimum,
  maximum,
};

// Results are bool; the operands have any common dtype.
enum class CompareOp : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
};

enum class PredicateOp : std::uint8_t { is_nan, is_inf, is_finite, logical_not };

std::string_view to_string(UnaryOp op);
std::string_view to_string(BinaryOp op);
std::string_view to_string(CompareOp op);
std::string_view to_string(PredicateOp op);

constexpr bool needs_floating(UnaryOp op) { return op >= UnaryOp::square_root; }

// A number without a dtype: it takes the tensor's.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool is_integer = false;

  Scalar(double value) : real(value), integer(truncated(value)) {}  // NOLINT
  Scalar(std::int64_t value)                                        // NOLINT
      : real(static_cast<double>(value)), integer(value), is_integer(true) {}
  Scalar(int value) : Scalar(static_cast<std::int64_t>(value)) {}  // NOLINT

 private:
  // 0 for NaN and beyond 64 bits.
  static constexpr std::int64_t truncated(double value) {
    return value >= -0x1p63 && value < 0x1p63 ? static_cast<std::int64_t>(value) : 0;
  }
};

// The minimum and maximum of an integer dtype.
struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};
IntegerRange range_of(DType dtype);

// Whether the value is in the range of an integer dtype; always true for floating types and bool.
bool fits(Scalar value, DType dtype);

CAUSEWAY_KERNEL(unary, UnaryOp op, const Operand& in, const Operand& out);
CAUSEWAY_KERNEL(binary, BinaryOp op, const Operand& a, const Operand& b, const Operand& out);
CAUSEWAY_KERNEL(compare, CompareOp op, const Operand& a, const Operand& b, const Operand& out);
CAUSEWAY_KERNEL(predicate, PredicateOp op, const Operand& in, const Operand& out);
// out = condition ? a : b; `condition` is bool.
CAUSEWAY_KERNEL(where, const Operand& condition, const Operand& a, const Operand& b,
                const Operand& out);
// NaN stays NaN.
CAUSEWAY_KERNEL(clamp, const Operand& in, Scalar low, Scalar high, const Operand& out);
CAUSEWAY_KERNEL(fill, Scalar value, const Operand& out);

// out[i] = start + i * step, in the dtype of `out`: a contiguous vector of i64 or f64.
CAUSEWAY_KERNEL(sequence, Scalar start, Scalar step, const Operand& out);
// The dtypes of both sides must be equal.
CAUSEWAY_KERNEL(copy, const Operand& in, const Operand& out);
// Between different dtypes; both sides contiguous. Floating to integer truncates; NaN and values
// out of range give the hardware's result.
CAUSEWAY_KERNEL(cast, const Operand& in, const Operand& out);

}  // namespace causeway::kernels
