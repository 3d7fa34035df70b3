// Rotary position embedding (Su et al. 2021): pairs of elements of a head are rotated by an angle
// that grows with the position. Element i is paired with element i + size / 2.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>

namespace causeway::kernels {

struct Rotary {
  std::int64_t n_rotated = 0;  // the first heads are rotated, the others copied
  bool inverse = false;        // rotates back: the gradient of the rotation
};

// `in` and `out` are (batch, length, heads, size), contiguous, of one floating dtype, with an even
// size; out may be in. `table` holds (length or more, size / 2, 2) f32: the cosine and sine of each
// position and pair.
CAUSEWAY_KERNEL(rotary, const Rotary& how, const Operand& in, const Operand& table,
                const Operand& out);

}  // namespace causeway::kernels
