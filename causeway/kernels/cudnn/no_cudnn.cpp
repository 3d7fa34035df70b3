// What needs cuDNN, in a build without it.
#include "causeway/core/error.h"
#include "causeway/kernels/convolution/convolution.h"

namespace causeway::kernels::cuda {

namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::device, "conv2d",
       "this build has no cuDNN, which convolution on a GPU needs; install it and build again, or "
       "use the cpu device");
}

}  // namespace

void convolution(StreamView, const Convolution&, const Operand&, const Operand&, const Operand&) {
  refuse();
}
void convolution_input_gradient(StreamView, const Convolution&, const Operand&, const Operand&,
                                const Operand&) {
  refuse();
}
void convolution_weight_gradient(StreamView, const Convolution&, const Operand&, const Operand&,
                                 const Operand&) {
  refuse();
}

}  // namespace causeway::kernels::cuda
