#include "causeway/tensor/elementwise.h"

#include "causeway/core/error.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"
#include "causeway/tensor/operand.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

namespace causeway {

namespace {

// The dtype of arithmetic between a tensor and a scalar.
DType with_scalar(DType dtype, Scalar value) {
  if (is_floating(dtype)) return dtype;
  if (!value.is_integer) return DType::f32;
  return dtype == DType::boolean ? DType::i64 : dtype;
}

// The result dtype of an operation on operands of dtype `operands`.
DType operation_dtype(BinaryOp op, DType operands) {
  const bool floats = op == BinaryOp::divide;
  const DType dtype = floats ? to_floating(operands) : operands;
  const bool has_bool = op == BinaryOp::add || op == BinaryOp::multiply ||
                        op == BinaryOp::minimum || op == BinaryOp::maximum;
  if (dtype == DType::boolean && !has_bool) {
    fail(ErrorKind::invalid_argument, kernels::to_string(op),
         "not supported for bool tensors; convert them with .to(\"i32\"), or use "
         "logical_xor or not_equal");
  }
  return dtype;
}

// A host scalar as an operand that broadcasts to any shape.
struct Immediate {
  alignas(8) std::array<std::byte, 8> bytes{};
  kernels::Operand operand;
};

void fill_immediate(Immediate& immediate, Scalar value, DType dtype, const Shape& shape) {
  require_fits("scalar", value, dtype);
  kernels::dispatch_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T typed = kernels::scalar_as<T>(value);
    std::memcpy(immediate.bytes.data(), &typed, sizeof(typed));
  });
  immediate.operand = {immediate.bytes.data(), dtype, shape, Strides::filled(shape.size(), 0),
                       true};
}

Tensor run_binary(BinaryOp op, const kernels::Operand& a, const kernels::Operand& b,
                  const Shape& shape, DType dtype, Device device) {
  Tensor out = Tensor::empty(shape, dtype, device);
  const StreamView stream = current_stream(device);
  if (out.numel() > 0) kernels::binary(stream, op, a, b, operand(out, stream));
  return out;
}

}  // namespace

Tensor unary(UnaryOp op, const Tensor& x) {
  if (!kernels::needs_floating(op) && x.dtype() == DType::boolean) {
    fail(ErrorKind::invalid_argument, kernels::to_string(op),
         "not supported for bool tensors; convert them first, for example with .to(\"i32\")");
  }
  const bool stays_integer =
      op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round || op == UnaryOp::trunc;
  if (stays_integer && !is_floating(x.dtype())) return x.clone();
  const Tensor typed = kernels::needs_floating(op) ? x.to(to_floating(x.dtype())) : x;
  Tensor out = Tensor::empty(x.shape(), typed.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) kernels::unary(stream, op, operand(typed, stream), operand(out, stream));
  return out;
}

Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b) {
  const std::string_view name = kernels::to_string(op);
  require_same_device(name, a, b);
  const Shape shape = broadcast(name, a.shape(), b.shape());
  const DType dtype = operation_dtype(op, promote(a.dtype(), b.dtype()));
  const Tensor wide_a = a.to(dtype).expand(shape);
  const Tensor wide_b = b.to(dtype).expand(shape);
  const StreamView stream = current_stream(a.device());
  return run_binary(op, operand(wide_a, stream), operand(wide_b, stream), shape, dtype, a.device());
}

Tensor binary(BinaryOp op, const Tensor& a, Scalar b) {
  const DType dtype = operation_dtype(op, with_scalar(a.dtype(), b));
  const Tensor typed = a.to(dtype);
  Immediate immediate;
  fill_immediate(immediate, b, dtype, a.shape());
  const StreamView stream = current_stream(a.device());
  return run_binary(op, operand(typed, stream), immediate.operand, a.shape(), dtype, a.device());
}

Tensor binary(BinaryOp op, Scalar a, const Tensor& b) {
  const DType dtype = operation_dtype(op, with_scalar(b.dtype(), a));
  const Tensor typed = b.to(dtype);
  Immediate immediate;
  fill_immediate(immediate, a, dtype, b.shape());
  const StreamView stream = current_stream(b.device());
  return run_binary(op, immediate.operand, operand(typed, stream), b.shape(), dtype, b.device());
}

Tensor compare(CompareOp op, const Tensor& a, const Tensor& b) {
  const std::string_view name = kernels::to_string(op);
  require_same_device(name, a, b);
  const Shape shape = broadcast(name, a.shape(), b.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  const Tensor wide_a = a.to(dtype).expand(shape);
  const Tensor wide_b = b.to(dtype).expand(shape);
  Tensor out = Tensor::empty(shape, DType::boolean, a.device());
  const StreamView stream = current_stream(a.device());
  if (out.numel() > 0) {
    kernels::compare(stream, op, operand(wide_a, stream), operand(wide_b, stream),
                     operand(out, stream));
  }
  return out;
}

Tensor compare(CompareOp op, const Tensor& a, Scalar b) {
  // A scalar outside the tensor's range is compared in 64 bits.
  const DType narrow = with_scalar(a.dtype(), b);
  const DType dtype = kernels::fits(b, narrow) ? narrow : DType::i64;
  const Tensor typed = a.to(dtype);
  Immediate immediate;
  fill_immediate(immediate, b, dtype, a.shape());
  Tensor out = Tensor::empty(a.shape(), DType::boolean, a.device());
  const StreamView stream = current_stream(a.device());
  if (out.numel() > 0) {
    kernels::compare(stream, op, operand(typed, stream), immediate.operand, operand(out, stream));
  }
  return out;
}

Tensor predicate(PredicateOp op, const Tensor& x) {
  Tensor out = Tensor::empty(x.shape(), DType::boolean, x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) kernels::predicate(stream, op, operand(x, stream), operand(out, stream));
  return out;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_same_device("where", condition, a);
  require_same_device("where", a, b);
  const Shape shape =
      broadcast("where", broadcast("where", a.shape(), b.shape()), condition.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  const Tensor wide_a = a.to(dtype).expand(shape);
  const Tensor wide_b = b.to(dtype).expand(shape);
  const Tensor chosen = condition.to(DType::boolean).expand(shape);
  Tensor out = Tensor::empty(shape, dtype, a.device());
  const StreamView stream = current_stream(a.device());
  if (out.numel() > 0) {
    kernels::where(stream, operand(chosen, stream), operand(wide_a, stream),
                   operand(wide_b, stream), operand(out, stream));
  }
  return out;
}

Tensor clamp(const Tensor& x, Scalar low, Scalar high) {
  if (x.dtype() == DType::boolean) {
    fail(ErrorKind::invalid_argument, "clamp", "bool tensors cannot be clamped");
  }
  if (!(low.real <= high.real)) {
    fail(ErrorKind::invalid_argument, "clamp",
         fmt::format("lower bound {} is greater than upper bound {}", low.real, high.real));
  }
  const DType dtype = promote(with_scalar(x.dtype(), low), with_scalar(x.dtype(), high));
  require_fits("clamp", low, dtype);
  require_fits("clamp", high, dtype);
  const Tensor typed = x.to(dtype);
  Tensor out = Tensor::empty(x.shape(), dtype, x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0)
    kernels::clamp(stream, operand(typed, stream), low, high, operand(out, stream));
  return out;
}

}  // namespace causeway
