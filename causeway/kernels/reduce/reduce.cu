// sum, mean, product, minimum, maximum and variance; arg_reduce.cu has argmin and argmax. Bytes:
// the input once; bound by memory.
#include "causeway/kernels/reduce/arg_reduce.cuh"
#include "causeway/kernels/reduce/reduce.cuh"
#include "causeway/kernels/reduce/reducers_device.h"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

void reduce(StreamView stream, ReduceOp op, const Operand& in, const Operand& out, Cube cube) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (op) {
      case ReduceOp::sum: return run_reduction<T>(stream, reducers::Sum<T>(), in, out, cube);
      case ReduceOp::mean:
        return run_reduction<T>(stream, reducers::Mean<T>{cube.axis}, in, out, cube);
      case ReduceOp::prod: return run_reduction<T>(stream, reducers::Product<T>(), in, out, cube);
      case ReduceOp::min: return run_reduction<T>(stream, reducers::Minimum<T>(), in, out, cube);
      case ReduceOp::max: return run_reduction<T>(stream, reducers::Maximum<T>(), in, out, cube);
      case ReduceOp::argmin:
      case ReduceOp::argmax: return arg_reduce(stream, op, in, out, cube);
    }
  });
}

void variance(StreamView stream, const Operand& in, const Operand& out, Cube cube,
              double correction) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_reduction<T>(stream, reducers::Variance<T>{correction}, in, out, cube);
  });
}

}  // namespace causeway::kernels::cuda
