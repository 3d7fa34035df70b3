// The bins of wanted ranks in a counted column; shared by plan_ranks and streaming fits.
#pragma once

#include "causeway/tokenizer/kernels/guide_device.h"
#include "causeway/tokenizer/kernels/quantile_device.h"

#include <cstdint>

namespace causeway {

// The start of a bin that is not gathered.
inline constexpr std::uint32_t kNotGathered = 0xffffffffu;

// The plan of one column.
struct PlannedColumn {
  std::int64_t n_valid = 0;
  std::int64_t n_missing = 0;
  std::int64_t n_gathered = 0;
  std::int64_t first = 0;  // offset of its gathered values among those of all columns
};

// A wanted order statistic: the rank-th smallest, from 0, of gathered[begin, end).
struct RankQuery {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rank = 0;
  // Set on the first query of an interval: its others are among the next n_run.
  std::int32_t n_run = 0;
  std::int32_t unused = 0;
};

// Rank of the lower (0) or upper (1) order statistic of quantile `level`.
CAUSEWAY_HOST_DEVICE std::int64_t wanted_rank(QuantileMethod method, double level, int which,
                                              std::int64_t n) {
  const RankPair pair = ranks_of(method, level, n);
  return which == 0 ? pair.below : pair.above;
}

// The bin that contains a rank; bin b has ranks bounds[b] to bounds[b + 1] - 1.
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

// The quantile at `level` of n values from its two order statistics; -0 is returned as 0.
template <class V>
CAUSEWAY_HOST_DEVICE double blend(QuantileMethod method, double level, std::int64_t n, V below,
                                  V above) {
  return interpolate(static_cast<V>(below + V(0)), static_cast<V>(above + V(0)),
                     ranks_of(method, level, n).weight);
}

// Whether bin b, [thresholds[b - 1], thresholds[b]), contains exactly one number.
template <class V>
CAUSEWAY_HOST_DEVICE bool holds_one_value(const V* thresholds, std::int32_t n_thresholds,
                                          std::int32_t bin) {
  if (bin == 0 || bin > n_thresholds) return false;
  const V next = next_above(thresholds[bin - 1]);
  // next_above returns its argument if there is no larger number.
  return next == (bin == n_thresholds ? thresholds[bin - 1] : thresholds[bin]);
}

}  // namespace causeway
