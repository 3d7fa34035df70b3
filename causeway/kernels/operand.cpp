#include "causeway/kernels/operand.h"

namespace causeway::kernels {

double bytes_of(const Operand& operand) {
  double elements = operand.immediate || operand.data == nullptr ? 0 : 1;
  for (int i = 0; i < operand.shape.size(); ++i) {
    if (operand.strides[i] != 0) elements *= static_cast<double>(operand.shape[i]);
    if (operand.shape[i] == 0) elements = 0;
  }
  return elements * static_cast<double>(size_of(operand.dtype));
}

}  // namespace causeway::kernels
