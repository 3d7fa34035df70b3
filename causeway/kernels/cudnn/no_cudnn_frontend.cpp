// The cuDNN path of a build without cuDNN or its front end: it declines every call, so that none
// reaches it.
#include "causeway/core/error.h"
#include "causeway/kernels/attention/paths.h"

namespace causeway::kernels::cuda {

std::string cudnn_declines(StreamView, const AttentionCall&, const AttentionGradients*) {
  return "this build has no cuDNN front end";
}

void cudnn_attention(StreamView, const AttentionCall&) {
  fail(ErrorKind::internal, "attention", "this build has no cuDNN front end");
}

void cudnn_attention_gradient(StreamView, const AttentionCall&, const AttentionGradients&) {
  fail(ErrorKind::internal, "attention", "this build has no cuDNN front end");
}

}  // namespace causeway::kernels::cuda
