// Transcendental and rounding operations, with CUDA's math functions. Bytes: the input and the
// output once; bound by memory for f32 and the 16-bit types.
#include "causeway/kernels/elementwise/unary_floating.cuh"

#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

namespace causeway::kernels::cuda {

void unary_floating(StreamView stream, UnaryOp op, const Operand& in, const Operand& out) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_floating_op(op,
                      [&](auto function) { map_unary<T, T>("unary", stream, function, in, out); });
  });
}

}  // namespace causeway::kernels::cuda
