// argmin and argmax. Bytes: the input once; bound by memory.
#include "causeway/kernels/reduce/arg_reduce.cuh"

#include "causeway/kernels/reduce/reduce.cuh"
#include "causeway/kernels/reduce/reducers_device.h"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

void arg_reduce(StreamView stream, ReduceOp op, const Operand& in, const Operand& out, Cube cube) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op == ReduceOp::argmin) {
      run_reduction<T>(stream, reducers::ArgMinimum<T>(), in, out, cube);
    } else {
      run_reduction<T>(stream, reducers::ArgMaximum<T>(), in, out, cube);
    }
  });
}

}  // namespace causeway::kernels::cuda
