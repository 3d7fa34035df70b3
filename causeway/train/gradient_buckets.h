// Layout of gradients in buckets: flat f32 buffers that are reduced over ranks one by one, in the
// order in which the backward pass fills them. A bucket has one part per rank; the rank that owns a
// part updates its parameters if the optimizer state is sharded.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace causeway::train {

// Elements [begin, begin + count) of a parameter, at `offset` in its bucket.
struct BucketPiece {
  std::size_t parameter = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;
};

struct BucketLayout {
  std::int64_t part = 0;     // elements per rank, with padding
  DType dtype = DType::f32;  // of its parameters
  std::vector<BucketPiece> pieces;

  int owner(const BucketPiece& piece) const { return static_cast<int>(piece.offset / part); }
};

struct BucketOptions {
  int n_ranks = 1;
  std::size_t bytes = 0;    // of f32 per bucket at least; 0: an eighth of all, within limits
  std::vector<int> kinds;   // of each parameter; those of one bucket are equal; empty: all equal
  std::vector<bool> whole;  // parameters that one rank must own whole; empty: none
};

// Parameters in reverse order, since the backward pass reaches the last ones first. Pieces are
// aligned for vector loads and never cross parts. Divisible parameters are split evenly; whole ones
// go to the rank with the fewest elements so far.
std::vector<BucketLayout> plan_buckets(const std::vector<Tensor>& parameters,
                                       const BucketOptions& options);

}  // namespace causeway::train
