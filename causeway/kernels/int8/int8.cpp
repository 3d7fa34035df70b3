#include "causeway/kernels/int8/int8.h"

namespace causeway::kernels {

bool takes_int8_linear(Device device, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (k > kMaxInt8Columns) return false;
  return device.is_cpu() || cuda::takes_int8_linear(device, m, n, k);
}

}  // namespace causeway::kernels
