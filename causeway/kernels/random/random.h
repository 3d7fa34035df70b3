// Random fills: bit-identical on every device, for any number of threads.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// Identifies one fill: element i is a function of the key and i only.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

// Contiguous floating outputs. uniform fills [low, high); 16-bit types are rounded from f32.
CAUSEWAY_KERNEL(uniform, RandomKey key, double low, double high, const Operand& out);
CAUSEWAY_KERNEL(normal, RandomKey key, double mean, double deviation, const Operand& out);
// Contiguous integer outputs in [low, low + range); range 0 means all 2^64 values.
CAUSEWAY_KERNEL(integers, RandomKey key, std::int64_t low, std::uint64_t range, const Operand& out);

}  // namespace causeway::kernels
