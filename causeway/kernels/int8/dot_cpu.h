// Sums of products of 8-bit integers on the CPU, by the integer dot products of the machine. The
// sums are exact for up to kMaxInt8Columns columns, and so the same by every path.
#pragma once

#include <cstdint>
#include <span>

namespace causeway::kernels::cpu {

inline constexpr int kTileWeights = 4;
inline constexpr int kTileInputs = 2;

// A few rows of a weight and of the inputs.
struct Int8Tile {
  const std::int8_t* weights[kTileWeights];
  const std::int8_t* inputs[kTileInputs];
  std::int32_t input_sums[kTileInputs];  // of each row of the inputs
  std::int64_t count = 0;                // columns
};

// sums[i][w]: the sum over columns of inputs[i] * weights[w].
using Int8Sums = std::int32_t[kTileInputs][kTileWeights];

struct Int8Path {
  const char* name;
  void (*multiply)(const Int8Tile& tile, Int8Sums& sums);
};

// The paths that this machine can run, the fastest first; the last is plain C++.
std::span<const Int8Path> int8_paths();

}  // namespace causeway::kernels::cpu
