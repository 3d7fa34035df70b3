#include "causeway/kernels/activation/activation.h"

namespace causeway::kernels {

std::string_view to_string(ActivationOp op) {
  switch (op) {
    case ActivationOp::leaky_relu: return "leaky_relu";
    case ActivationOp::elu: return "elu";
    case ActivationOp::softplus: return "softplus";
    case ActivationOp::hard_sigmoid: return "hard_sigmoid";
    case ActivationOp::hard_swish: return "hard_swish";
    case ActivationOp::hard_tanh: return "hard_tanh";
  }
  return "activation";
}

std::string_view to_string(LossOp op) {
  switch (op) {
    case LossOp::squared: return "mse";
    case LossOp::absolute: return "absolute_error";
    case LossOp::huber: return "huber";
    case LossOp::pinball: return "pinball";
  }
  return "loss";
}

bool derives_from_result(UnaryOp op) {
  switch (op) {
    case UnaryOp::relu:
    case UnaryOp::square_root:
    case UnaryOp::reciprocal_root:
    case UnaryOp::reciprocal:
    case UnaryOp::exp:
    case UnaryOp::expm1:
    case UnaryOp::tan:
    case UnaryOp::tanh:
    case UnaryOp::sigmoid: return true;
    default: return false;
  }
}

}  // namespace causeway::kernels
