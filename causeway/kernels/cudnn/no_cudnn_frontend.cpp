// The cuDNN path of attention in a build without cuDNN or its frontend: no call is supported.
#include "causeway/core/error.h"
#include "causeway/kernels/attention/paths.h"

namespace causeway::kernels::cuda {

std::string cudnn_unsupported(StreamView, const AttentionCall&, const AttentionGradients*) {
  return "this build has no cuDNN frontend";
}

void cudnn_attention(StreamView, const AttentionCall&) {
  fail(ErrorKind::internal, "attention", "this build has no cuDNN frontend");
}

void cudnn_attention_gradient(StreamView, const AttentionCall&, const AttentionGradients&) {
  fail(ErrorKind::internal, "attention", "this build has no cuDNN frontend");
}

}  // namespace causeway::kernels::cuda
