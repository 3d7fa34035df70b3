// The operators of Tensor: +, -, *, /, **, %, comparisons, and & | ^ ~ on bool tensors.
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "python/arithmetic.h"
#include "python/bind.h"

namespace causeway::python {

namespace {

[[noreturn]] void refuse_numbers() {
  throw nb::type_error("expected a tensor as at least one operand; convert with array()");
}

// The comparison with swapped operands.
CompareOp swapped(CompareOp op) {
  switch (op) {
    case CompareOp::less: return CompareOp::greater;
    case CompareOp::less_equal: return CompareOp::greater_equal;
    case CompareOp::greater: return CompareOp::less;
    case CompareOp::greater_equal: return CompareOp::less_equal;
    default: return op;
  }
}

struct Operator {
  BinaryOp op;
  const char* plain;
  const char* reflected;
  const char* in_place;
};

constexpr Operator kOperators[] = {
    {BinaryOp::add, "__add__", "__radd__", "__iadd__"},
    {BinaryOp::subtract, "__sub__", "__rsub__", "__isub__"},
    {BinaryOp::multiply, "__mul__", "__rmul__", "__imul__"},
    {BinaryOp::divide, "__truediv__", "__rtruediv__", "__itruediv__"},
    {BinaryOp::power, "__pow__", "__rpow__", "__ipow__"},
    {BinaryOp::remainder, "__mod__", "__rmod__", "__imod__"},
};

struct Comparison {
  CompareOp op;
  const char* name;
};

constexpr Comparison kComparisons[] = {
    {CompareOp::equal, "__eq__"},   {CompareOp::not_equal, "__ne__"},
    {CompareOp::less, "__lt__"},    {CompareOp::less_equal, "__le__"},
    {CompareOp::greater, "__gt__"}, {CompareOp::greater_equal, "__ge__"},
};

struct Logical {
  CompareOp op;
  const char* plain;
  const char* reflected;
};

constexpr Logical kLogicals[] = {
    {CompareOp::logical_and, "__and__", "__rand__"},
    {CompareOp::logical_or, "__or__", "__ror__"},
    {CompareOp::logical_xor, "__xor__", "__rxor__"},
};

Tensor with(BinaryOp op, const Tensor& a, const Operand& b) {
  return without_gil([&] {
    return b.is_tensor() ? autograd::binary(op, a, b.tensor())
                         : autograd::binary(op, a, b.number());
  });
}

Tensor with_reflected(BinaryOp op, const Tensor& b, const Operand& a) {
  return without_gil([&] {
    return a.is_tensor() ? autograd::binary(op, a.tensor(), b)
                         : autograd::binary(op, a.number(), b);
  });
}

Tensor with(CompareOp op, const Tensor& a, const Operand& b) {
  return without_gil(
      [&] { return b.is_tensor() ? compare(op, a, b.tensor()) : compare(op, a, b.number()); });
}

// Writes the result into `self`, which keeps its dtype and shape.
nb::object in_place(BinaryOp op, nb::handle_t<Tensor> self, const Operand& b) {
  const Tensor& a = nb::cast<const Tensor&>(self);
  require_untracked(kernels::to_string(op).data(), a);
  if (b.is_tensor()) require_untracked_source(kernels::to_string(op).data(), b.tensor());
  const Tensor result = with(op, a, b);
  const std::string name(kernels::to_string(op));
  if (is_floating(result.dtype()) && !is_floating(a.dtype())) {
    fail(ErrorKind::invalid_argument, name,
         "the result is " + std::string(to_string(result.dtype())) + ", which a tensor of " +
             std::string(to_string(a.dtype())) + " cannot hold in place; write x = x … instead");
  }
  if (result.shape() != a.shape()) {
    fail(ErrorKind::shape_mismatch, name,
         "the result has shape " + to_string(result.shape()) + ", which a tensor of shape " +
             to_string(a.shape()) + " cannot hold in place; write x = x … instead");
  }
  without_gil([&] { a.copy_from(result); });
  return nb::borrow(self);
}

template <class Op>
void require_bool(Op op, const Tensor& x) {
  if (x.dtype() == DType::boolean) return;
  fail(ErrorKind::invalid_argument, kernels::to_string(op),
       "& | ^ ~ need bool tensors, got " + std::string(to_string(x.dtype())) +
           "; compare first, as in x != 0");
}

Tensor logical(CompareOp op, const Tensor& a, const Operand& b) {
  require_bool(op, a);
  if (b.is_tensor()) require_bool(op, b.tensor());
  return with(op, a, b);
}

}  // namespace

Tensor apply(BinaryOp op, const Operand& a, const Operand& b) {
  if (a.is_tensor()) return with(op, a.tensor(), b);
  if (b.is_tensor()) return with_reflected(op, b.tensor(), a);
  refuse_numbers();
}

Tensor apply(CompareOp op, const Operand& a, const Operand& b) {
  if (a.is_tensor()) return with(op, a.tensor(), b);
  if (b.is_tensor()) return with(swapped(op), b.tensor(), a);
  refuse_numbers();
}

void bind_operators(TensorClass& tensor) {
  for (const auto& [op, plain, reflected, assigned] : kOperators) {
    tensor.def(
        plain, [op = op](const Tensor& a, const Operand& b) { return with(op, a, b); }, "other"_a,
        nb::is_operator());
    tensor.def(
        reflected,
        [op = op](const Tensor& b, const Operand& a) { return with_reflected(op, b, a); },
        "other"_a, nb::is_operator());
    const std::string signature = "def " + std::string(assigned) +
                                  "(self, other: Tensor | float | numpy.ndarray[]) -> Tensor";
    tensor.def(
        assigned,
        [op = op](nb::handle_t<Tensor> a, const Operand& b) { return in_place(op, a, b); },
        "other"_a, nb::is_operator(), nb::sig(signature.c_str()));
  }
  for (const auto& [op, name] : kComparisons) {
    tensor.def(
        name, [op = op](const Tensor& a, const Operand& b) { return with(op, a, b); }, "other"_a,
        nb::is_operator());
  }
  for (const auto& [op, plain, reflected] : kLogicals) {
    const auto function = [op = op](const Tensor& a, const Operand& b) {
      return logical(op, a, b);
    };
    tensor.def(plain, function, "other"_a, nb::is_operator());
    tensor.def(reflected, function, "other"_a, nb::is_operator());
  }
  tensor
      .def("__invert__",
           [](const Tensor& x) {
             require_bool(PredicateOp::logical_not, x);
             return without_gil([&] { return predicate(PredicateOp::logical_not, x); });
           })
      .def("__neg__",
           [](const Tensor& x) {
             return without_gil([&] { return autograd::unary(UnaryOp::negate, x); });
           })
      .def("__pos__",
           [](const Tensor& x) { return without_gil([&] { return autograd::clone(x); }); })
      .def("__abs__", [](const Tensor& x) {
        return without_gil([&] { return autograd::unary(UnaryOp::absolute, x); });
      });
}

}  // namespace causeway::python
