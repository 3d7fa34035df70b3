#include "causeway/kernels/optimizer/optimizer.h"

namespace causeway::kernels {

std::string_view to_string(OptimizerOp op) {
  switch (op) {
    case OptimizerOp::sgd: return "sgd";
    case OptimizerOp::adam: return "adam";
    case OptimizerOp::adamw: return "adamw";
    case OptimizerOp::rmsprop: return "rmsprop";
    case OptimizerOp::adagrad: return "adagrad";
    case OptimizerOp::schedule_free: return "schedule_free";
  }
  return "optimizer";
}

}  // namespace causeway::kernels
