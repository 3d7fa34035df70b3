// Replacements for the functions that need cuDNN, in a build without it.
#include "causeway/core/error.h"
#include "causeway/kernels/convolution/convolution.h"
#include "causeway/kernels/libraries.h"

namespace causeway::kernels {

LibraryStatus cudnn_status() { return {"", "", "this build has no cuDNN"}; }

namespace cuda {

namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::device, "conv2d",
       "convolution on a GPU needs cuDNN, which this build lacks; install cuDNN and rebuild, or "
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

}  // namespace cuda

}  // namespace causeway::kernels
