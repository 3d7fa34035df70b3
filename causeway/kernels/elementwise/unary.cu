// Unary operations on any number, predicates and clamping; unary_floating.cu has the floating ones.
// Bytes: the input and the output once; bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/elementwise/unary_floating.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

namespace causeway::kernels::cuda {

void unary(StreamView stream, UnaryOp op, const Operand& in, const Operand& out) {
  if (needs_floating(op)) return unary_floating(stream, op, in, out);
  dispatch_number(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_number_op(op,
                    [&](auto function) { map_unary<T, T>("unary", stream, function, in, out); });
  });
}

void predicate(StreamView stream, PredicateOp op, const Operand& in, const Operand& out) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) { map_unary<bool, T>("predicate", stream, function, in, out); });
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
