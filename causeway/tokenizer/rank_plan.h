// Which bins of a counted column hold the wanted ranks: what has to be gathered, and what to ask of
// it. Shared by a fit of one table and by one that streams.
#pragma once

#include "causeway/kernels/binning.h"
#include "causeway/kernels/device/quantile.h"

#include <cstdint>
#include <span>
#include <vector>

namespace causeway::tokenizer {

// Where one wanted rank's value comes from.
struct RankSource {
  std::int64_t query = -1;  // the query that answers it; else the value is thresholds[at - 1]
  std::int64_t bin = 0;
};

// The plan of one column after the other; segments lie one behind the other in one buffer.
class RankPlan {
 public:
  explicit RankPlan(std::int64_t bins_per_column) : bins_per_column_(bins_per_column) {}

  // Adds a column: `counts` of its bins, `single[b]` where bin b can hold one value only, and the
  // ranks, ascending. Returns a source a rank.
  std::vector<RankSource> add_column(std::span<const std::int64_t> counts,
                                     const std::vector<bool>& single,
                                     std::span<const std::int64_t> ranks);

  const std::vector<std::int32_t>& segments() const { return segments_; }  // by column and bin
  const std::vector<std::int64_t>& cursors() const { return cursors_; }    // a segment's start
  const std::vector<kernels::RankQuery>& queries() const { return queries_; }
  std::int64_t n_gathered() const { return n_gathered_; }

 private:
  std::int64_t bins_per_column_;
  std::vector<std::int32_t> segments_;
  std::vector<std::int64_t> cursors_;
  std::vector<kernels::RankQuery> queries_;
  std::int64_t n_gathered_ = 0;
};

// Adds a column by the ranks of its quantiles: sources[2 * i] and [2 * i + 1] are those of pair i.
std::vector<RankSource> plan_ranks(RankPlan& plan, std::span<const std::int64_t> counts,
                                   const std::vector<bool>& single,
                                   std::span<const RankPair> pairs);

// Bin b is [thresholds[b - 1], thresholds[b]): whether each holds one number only.
template <class V>
std::vector<bool> single_valued_bins(const V* thresholds, std::int32_t n, std::int64_t n_bins) {
  std::vector<bool> single(static_cast<std::size_t>(n_bins), false);
  for (std::int32_t bin = 1; bin < n; ++bin) {
    single[static_cast<std::size_t>(bin)] = next_above(thresholds[bin - 1]) == thresholds[bin];
  }
  if (n > 0) {  // above the last threshold there may be no number at all
    single[static_cast<std::size_t>(n)] = next_above(thresholds[n - 1]) == thresholds[n - 1];
  }
  return single;
}

}  // namespace causeway::tokenizer
