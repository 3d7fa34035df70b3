// Unary operations on any number, predicates and clamping; unary_floating.cu has the floating ones.
// Bytes: the input and the output once; bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/elementwise/functors_device.h"
#include "causeway/kernels/elementwise/unary_floating.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"

namespace causeway::kernels::cuda {

namespace {

// In the order of UnaryOp and PredicateOp.
using NumberOp = RuntimeOp<functors::Negate, functors::Absolute, functors::Sign, functors::Square,
                           functors::Relu>;
using Predicate =
    RuntimeOp<functors::IsNan, functors::IsInf, functors::IsFinite, functors::LogicalNot>;
static_assert(static_cast<int>(UnaryOp::negate) == 0 && static_cast<int>(UnaryOp::relu) == 4);
static_assert(static_cast<int>(PredicateOp::is_nan) == 0 &&
              static_cast<int>(PredicateOp::logical_not) == 3);

}  // namespace

void unary(StreamView stream, UnaryOp op, const Operand& in, const Operand& out) {
  if (needs_floating(op)) return unary_floating(stream, op, in, out);
  dispatch_number(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_unary<T, T>("unary", stream, NumberOp{static_cast<int>(op)}, in, out);
  });
}

void predicate(StreamView stream, PredicateOp op, const Operand& in, const Operand& out) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map_unary<bool, T>("predicate", stream, Predicate{static_cast<int>(op)}, in, out);
  });
}

void clamp(StreamView stream, const Operand& in, Scalar low, Scalar high, const Operand& out) {
  dispatch_number(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const functors::Clamp<C> function{scalar_as<C>(low), scalar_as<C>(high)};
    map_unary<T, T>("clamp", stream, function, in, out);
  });
}

}  // namespace causeway::kernels::cuda
