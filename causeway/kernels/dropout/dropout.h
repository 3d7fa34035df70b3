// Dropout. The mask is never stored but drawn again when needed.
#pragma once

#include "causeway/kernels/random/random.h"

namespace causeway::kernels {

// out[i] = in[i] / (1 - probability), or 0 with that probability, for contiguous floating operands;
// out may be in. Element i is decided by word i % 4 of Philox block i / 4 of random stream
// key.stream + (*step << 32), equal on every device. `step` is one i64 on the device, so that a
// replayed graph draws new numbers; 0 if empty. The gradient is the same call on the gradient.
CAUSEWAY_KERNEL(dropout, RandomKey key, const Operand& step, double probability, const Operand& in,
                const Operand& out);

}  // namespace causeway::kernels
