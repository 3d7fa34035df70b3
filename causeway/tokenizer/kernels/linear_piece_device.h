// One component of the piecewise-linear encoding (Gorishniy, Rubachev, Babenko, NeurIPS 2022).
#pragma once

#include "causeway/core/host_device.h"

#include <cstdint>

namespace causeway {

// One output column: (value of `column` - low) / width of the piece, clamped to [0, 1] except at a
// column's unbounded ends.
struct LinearPiece {
  double low = 0;
  double width = 1;
  std::int32_t column = 0;
  std::int32_t open_below = 0;
  std::int32_t open_above = 0;
  std::int32_t unused = 0;
};

// Returns 0 for NaN.
template <class V>
CAUSEWAY_HOST_DEVICE float linear_component(V value, const LinearPiece& piece) {
  double part = (static_cast<double>(value) - piece.low) / piece.width;
  if (piece.open_below == 0 && !(part > 0)) part = 0;
  if (piece.open_above == 0 && part > 1) part = 1;
  return part == part ? static_cast<float>(part) : 0.0f;
}

}  // namespace causeway
