// Arithmetic on two elements. Bytes: both inputs and the output once; bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

namespace causeway::kernels::cuda {

void binary(StreamView stream, BinaryOp op, const Operand& a, const Operand& b,
            const Operand& out) {
  dispatch_all(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op,
          [&](auto function) { map_binary<true, T, T>("binary", stream, function, a, b, out); });
  });
}

}  // namespace causeway::kernels::cuda
