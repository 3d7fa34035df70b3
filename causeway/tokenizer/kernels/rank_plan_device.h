// Where wanted ranks lie in a column whose bins are counted: the arithmetic of plan_ranks and of a
// fit that streams.
#pragma once

#include "causeway/tokenizer/kernels/guide_device.h"
#include "causeway/tokenizer/kernels/quantile_device.h"

#include <cstdint>

namespace causeway {

// The start of a bin that is not gathered.
inline constexpr std::uint32_t kNowhere = 0xffffffffu;

// What a plan says of a column.
struct PlannedColumn {
  std::int64_t n_valid = 0;
  std::int64_t n_missing = 0;
  std::int64_t n_gathered = 0;
  std::int64_t first = 0;  // where its gathered values begin among those of all columns
};

// A wanted order statistic: the rank-th smallest, from 0, of gathered[begin, end).
struct RankQuery {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rank = 0;
  std::int32_t n_run = 0;  // of the first query of a stretch: all of its are among the next n_run
  std::int32_t unused = 0;
};

// Rank `which` of the pair that quantile `level` is made of: 0 below, 1 above.
CAUSEWAY_HOST_DEVICE std::int64_t wanted_rank(QuantileMethod method, double level, int which,
                                              std::int64_t n) {
  const RankPair pair = ranks_of(method, level, n);
  return which == 0 ? pair.below : pair.above;
}

// The bin that holds a rank; bin b has ranks bounds[b] to bounds[b + 1].
CAUSEWAY_HOST_DEVICE std::int32_t bin_of_rank(const std::int64_t* bounds, std::int32_t n_bins,
                                              std::int64_t rank) {
  std::int32_t first = 0, count = n_bins - 1;
  while (count > 0) {
    const std::int32_t half = count / 2;
    const bool above = bounds[first + half + 1] <= rank;
    first = above ? first + half + 1 : first;
    count = above ? count - half - 1 : half;
  }
  return first;
}

// The quantile at `level` of n values between its two order statistics; -0 comes as 0.
template <class V>
CAUSEWAY_HOST_DEVICE double blend(QuantileMethod method, double level, std::int64_t n, V below,
                                  V above) {
  return interpolate(static_cast<V>(below + V(0)), static_cast<V>(above + V(0)),
                     ranks_of(method, level, n).weight);
}

// Whether bin b, which is [thresholds[b - 1], thresholds[b]), holds one number only.
template <class V>
CAUSEWAY_HOST_DEVICE bool holds_one_value(const V* thresholds, std::int32_t n_thresholds,
                                          std::int32_t bin) {
  if (bin == 0 || bin > n_thresholds) return false;
  const V next = next_above(thresholds[bin - 1]);
  return next == (bin == n_thresholds ? thresholds[bin - 1] : thresholds[bin]);  // none is above
}

}  // namespace causeway
