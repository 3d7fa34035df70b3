#include "causeway/kernels/matmul/matmul.h"

namespace causeway::kernels {

std::string_view to_string(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none: return "plain";
    case Epilogue::bias: return "bias";
    case Epilogue::gelu: return "gelu";
    case Epilogue::bias_gelu: return "bias_gelu";
    case Epilogue::gelu_gradient: return "gelu_gradient";
  }
  return "linear";
}

}  // namespace causeway::kernels
