#include "causeway/kernels/norm/norm.h"

namespace causeway::kernels {

std::string_view to_string(SoftmaxOp op) {
  switch (op) {
    case SoftmaxOp::softmax: return "softmax";
    case SoftmaxOp::log_softmax: return "log_softmax";
  }
  return "softmax";
}

std::string_view to_string(NormOp op) {
  switch (op) {
    case NormOp::layer: return "layer";
    case NormOp::rms: return "rms";
  }
  return "norm";
}

}  // namespace causeway::kernels
