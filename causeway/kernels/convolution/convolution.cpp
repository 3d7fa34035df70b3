#include "causeway/kernels/convolution/convolution.h"

namespace causeway::kernels {

std::string_view to_string(PoolOp op) { return op == PoolOp::max ? "max_pool2d" : "avg_pool2d"; }

}  // namespace causeway::kernels
