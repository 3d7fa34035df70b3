// Arithmetic as functions and as methods, with NumPy's and PyTorch's names.
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/matmul.h"
#include "python/arithmetic.h"
#include "causeway/tensor/operand.h"
#include "python/bind.h"

#include <limits>

namespace causeway::python {

namespace {

struct UnaryName {
  const char* name;
  UnaryOp op;
  const char* doc;
};

constexpr UnaryName kUnary[] = {
    {"negative", UnaryOp::negate, "-x."},
    {"neg", UnaryOp::negate, "-x."},
    {"absolute", UnaryOp::absolute, "|x|."},
    {"abs", UnaryOp::absolute, "|x|."},
    {"sign", UnaryOp::sign, "-1, 0 or 1; NaN stays."},
    {"square", UnaryOp::square, "x * x."},
    {"relu", UnaryOp::relu, "max(x, 0)."},
    {"sqrt", UnaryOp::square_root, "The square root."},
    {"rsqrt", UnaryOp::reciprocal_root, "1 / sqrt(x)."},
    {"reciprocal", UnaryOp::reciprocal, "1 / x."},
    {"exp", UnaryOp::exp, "The exponential function."},
    {"expm1", UnaryOp::expm1, "exp(x) - 1, accurate near 0."},
    {"log", UnaryOp::log, "The natural logarithm."},
    {"log1p", UnaryOp::log1p, "log(1 + x), accurate near 0."},
    {"log2", UnaryOp::log2, "The logarithm to base 2."},
    {"sin", UnaryOp::sin, "The sine of x in radians."},
    {"cos", UnaryOp::cos, "The cosine of x in radians."},
    {"tan", UnaryOp::tan, "The tangent of x in radians."},
    {"tanh", UnaryOp::tanh, "The hyperbolic tangent."},
    {"erf", UnaryOp::erf, "The error function."},
    {"sigmoid", UnaryOp::sigmoid, "1 / (1 + exp(-x))."},
    {"silu", UnaryOp::silu, "x * sigmoid(x)."},
    {"gelu", UnaryOp::gelu, "x times the standard normal CDF of x."},
    {"gelu_tanh", UnaryOp::gelu_tanh, "The tanh approximation of gelu, as in GPT-2."},
    {"floor", UnaryOp::floor, "Rounds down."},
    {"ceil", UnaryOp::ceil, "Rounds up."},
    {"round", UnaryOp::round, "Rounds to the nearest integer, ties to even."},
    {"trunc", UnaryOp::trunc, "Rounds towards 0."},
};

struct BinaryName {
  const char* name;
  BinaryOp op;
  const char* doc;
};

constexpr BinaryName kBinary[] = {
    {"add", BinaryOp::add, "a + b."},
    {"subtract", BinaryOp::subtract, "a - b."},
    {"multiply", BinaryOp::multiply, "a * b."},
    {"mul", BinaryOp::multiply, "a * b."},
    {"divide", BinaryOp::divide, "a / b; f32 for integers."},
    {"true_divide", BinaryOp::divide, "a / b; f32 for integers."},
    {"power", BinaryOp::power, "a to the power of b."},
    {"pow", BinaryOp::power, "a to the power of b."},
    {"remainder", BinaryOp::remainder, "a modulo b, with the sign of b."},
    {"minimum", BinaryOp::minimum, "The elementwise minimum; propagates NaN."},
    {"maximum", BinaryOp::maximum, "The elementwise maximum; propagates NaN."},
};

struct CompareName {
  const char* name;
  CompareOp op;
  const char* doc;
};

constexpr CompareName kCompare[] = {
    {"equal", CompareOp::equal, "a == b, bool."},
    {"not_equal", CompareOp::not_equal, "a != b, bool."},
    {"eq", CompareOp::equal, "a == b, bool."},
    {"ne", CompareOp::not_equal, "a != b, bool."},
    {"lt", CompareOp::less, "a < b, bool."},
    {"le", CompareOp::less_equal, "a <= b, bool."},
    {"gt", CompareOp::greater, "a > b, bool."},
    {"ge", CompareOp::greater_equal, "a >= b, bool."},
    {"less", CompareOp::less, "a < b, bool."},
    {"less_equal", CompareOp::less_equal, "a <= b, bool."},
    {"greater", CompareOp::greater, "a > b, bool."},
    {"greater_equal", CompareOp::greater_equal, "a >= b, bool."},
    {"logical_and", CompareOp::logical_and, "Whether both are nonzero, bool."},
    {"logical_or", CompareOp::logical_or, "Whether at least one is nonzero, bool."},
    {"logical_xor", CompareOp::logical_xor, "Whether exactly one is nonzero, bool."},
};

struct PredicateName {
  const char* name;
  PredicateOp op;
  const char* doc;
};

constexpr PredicateName kPredicate[] = {
    {"isnan", PredicateOp::is_nan, "Whether each element is NaN, bool."},
    {"isinf", PredicateOp::is_inf, "Whether each element is infinite, bool."},
    {"isfinite", PredicateOp::is_finite, "Whether each element is neither infinite nor NaN, bool."},
    {"logical_not", PredicateOp::logical_not, "Whether each element is 0, bool."},
};

// The smallest and largest value of a dtype, for an absent bound.
Scalar least(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (!is_signed(dtype)) return 0;
  return Scalar(std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(dtype)));
}

Scalar greatest(DType dtype) {
  if (is_floating(dtype)) return std::numeric_limits<double>::infinity();
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * size_of(dtype));
  return Scalar(static_cast<std::int64_t>(is_signed(dtype) ? all >> 1 : all));
}

Tensor clip(const Tensor& x, Maybe<Number> low, Maybe<Number> high) {
  const Scalar from = low.value_or(least(x.dtype()));
  const Scalar to = high.value_or(greatest(x.dtype()));
  return without_gil([&] { return autograd::clamp(x, from, to); });
}

// A number as a 0-d tensor of a dtype that does not promote `other` if possible.
Tensor as_tensor_like(const Operand& operand, const Operand& other, Device device) {
  if (operand.is_tensor()) return operand.tensor();
  const Scalar number = operand.number();
  DType dtype = number.is_integer ? DType::i64 : DType::f32;
  const bool keeps =
      other.is_tensor() && (number.is_integer || is_floating(other.tensor().dtype()));
  if (keeps && other.tensor().dtype() != DType::boolean) dtype = other.tensor().dtype();
  require_fits("where", number, dtype);
  return full({}, number, dtype, device);
}

Tensor choose(const Tensor& condition, const Operand& a, const Operand& b) {
  const Tensor chosen = as_tensor_like(a, b, condition.device());
  const Tensor otherwise = as_tensor_like(b, a, condition.device());
  return without_gil([&] { return autograd::where(condition, chosen, otherwise); });
}

void bind_elementwise(nb::module_& module, TensorClass& tensor) {
  for (const auto& [name, op, doc] : kUnary) {
    const auto function = [op = op](const Tensor& x) {
      return without_gil([&] { return autograd::unary(op, x); });
    };
    module.def(name, function, "x"_a, doc);
    tensor.def(name, function, doc);
  }
  for (const auto& [name, op, doc] : kPredicate) {
    const auto function = [op = op](const Tensor& x) {
      return without_gil([&] { return predicate(op, x); });
    };
    module.def(name, function, "x"_a, doc);
    tensor.def(name, function, doc);
  }
  for (const auto& [name, op, doc] : kBinary) {
    const auto function = [op = op](const Operand& a, const Operand& b) { return apply(op, a, b); };
    module.def(name, function, "a"_a, "b"_a, doc);
    tensor.def(name, function, "b"_a, doc);
  }
  for (const auto& [name, op, doc] : kCompare) {
    const auto function = [op = op](const Operand& a, const Operand& b) { return apply(op, a, b); };
    module.def(name, function, "a"_a, "b"_a, doc);
    tensor.def(name, function, "b"_a, doc);
  }
}

}  // namespace

void bind_ops(nb::module_& module, TensorClass& tensor) {
  bind_elementwise(module, tensor);
  for (const char* name : {"clip", "clamp"}) {
    constexpr const char* kDoc = "Clips x to [min, max]; NaN stays.";
    module.def(name, clip, "x"_a, "min"_a = nb::none(), "max"_a = nb::none(), kDoc);
    tensor.def(name, clip, "min"_a = nb::none(), "max"_a = nb::none(), kDoc);
  }
  module.def("where", choose, "condition"_a, "a"_a, "b"_a,
             "a where the condition is true, else b; all three broadcast.");
  const auto multiply = [](const Tensor& a, const Tensor& b) {
    return without_gil([&] { return autograd::matmul(a, b); });
  };
  constexpr const char* kMatmul =
      "The matrix product: (..., m, k) and (..., k, n) to (..., m, n). A vector is a row on the "
      "left, a column on the right; leading dimensions broadcast.";
  for (const char* name : {"matmul", "mm", "bmm", "mv"}) {
    module.def(name, multiply, "a"_a, "b"_a, kMatmul);
    tensor.def(name, multiply, "b"_a, kMatmul);
  }
  tensor.def("__matmul__", multiply, "b"_a, nb::is_operator());
  module.def("set_allow_tf32", &set_allow_tf32, "allow"_a,
             "Sets whether f32 matrix products on a GPU may use TF32 [False].");
  module.def("allow_tf32", &allow_tf32, "Whether f32 matrix products on a GPU may use TF32.");
}

}  // namespace causeway::python
