// Pointer-level generators. cpu:: and cuda:: write the same bytes.
#pragma once

#include "causeway/prior/device/dataset.h"
#include "causeway/runtime/stream.h"

namespace causeway::prior {

// `count` datasets of a seed with indices first, first + stride, ... Each has room for `rows` by
// `features`.
struct BatchOut {
  float* x = nullptr;
  float* y = nullptr;
  DatasetInfo* info = nullptr;
  std::uint64_t first = 0;
  std::uint64_t stride = 1;  // between consecutive indices
  std::int64_t count = 0;
  int rows = 0;
  int features = 0;
  // Packed layout: three numbers per dataset in the generator's memory: its offset in x, its offset
  // in y, and its row stride in x. nullptr: every dataset has room for `rows` by `features`.
  const std::int64_t* offsets = nullptr;
  // Explicit dataset indices, in the generator's memory; nullptr: first, first + stride, ...
  const std::uint64_t* indices = nullptr;

  CAUSEWAY_HOST_DEVICE std::uint64_t index_of(std::int64_t k) const {
    if (indices != nullptr) return indices[k];
    return first + static_cast<std::uint64_t>(k) * stride;
  }
  CAUSEWAY_HOST_DEVICE DatasetOut of(std::int64_t k) const {
    if (offsets != nullptr) {
      return {x + offsets[3 * k], y + offsets[3 * k + 1], offsets[3 * k + 2]};
    }
    return {x + k * rows * features, y + k * rows, features};
  }
};

// True for fixed-size datasets of the simple family with four features, a numeric target and no
// filters: the few-shot workload.
CAUSEWAY_HOST_DEVICE bool is_plain_simple(const Recipe& recipe) {
  return recipe.family == Family::simple && recipe.classes.low == 0 &&
         recipe.rows.low == recipe.rows.high && recipe.features.low == recipe.features.high &&
         recipe.features.high == 4 && recipe.missing_high <= 0.0f && !recipe.predictable &&
         !recipe.remove_trivial;
}

// generate_simple is the fast path for is_plain_simple; it does not write out.info. generate takes
// scratch_bytes of memory from the pool for `count` datasets.
namespace cpu {
std::size_t scratch_bytes(const Recipe& recipe, std::int64_t count);
void generate_simple(std::uint64_t seed, const BatchOut& out);
void generate(const Recipe& recipe, std::uint64_t seed, const BatchOut& out);
}  // namespace cpu
namespace cuda {
std::size_t scratch_bytes(StreamView stream, const Recipe& recipe, std::int64_t count);
void generate_simple(StreamView stream, std::uint64_t seed, const BatchOut& out);
void generate(StreamView stream, const Recipe& recipe, std::uint64_t seed, const BatchOut& out);
}  // namespace cuda

}  // namespace causeway::prior
