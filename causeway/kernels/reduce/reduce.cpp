#include "causeway/kernels/reduce/reduce.h"

namespace causeway::kernels {

std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::mean: return "mean";
    case ReduceOp::prod: return "prod";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::argmin: return "argmin";
    case ReduceOp::argmax: return "argmax";
  }
  return "reduce";
}

DType result_dtype(ReduceOp op, DType in) {
  switch (op) {
    case ReduceOp::argmin:
    case ReduceOp::argmax: return DType::i64;
    case ReduceOp::min:
    case ReduceOp::max: return in;
    case ReduceOp::mean: return to_floating(in);
    default: return is_floating(in) ? in : DType::i64;
  }
}

}  // namespace causeway::kernels
