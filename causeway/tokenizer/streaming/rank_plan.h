// Determines which bins of a counted column contain the wanted ranks: what to gather, and the
// queries on it. For streaming fits; a table is planned on its device (kernels/ranks.h).
#pragma once

#include "causeway/tokenizer/kernels/rank_plan_device.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace causeway::tokenizer {

// The source of the value of one wanted rank.
struct RankSource {
  std::int64_t query = -1;  // the query that answers it; otherwise the value is thresholds[at - 1]
  std::int64_t bin = 0;
};

// Plans one column after the other; the segments are contiguous in one buffer.
class RankPlan {
 public:
  explicit RankPlan(std::int64_t bins_per_column) : bins_per_column_(bins_per_column) {}

  // Adds a column: `counts` of its bins, `single(b)`: bin b can contain only one value, and the
  // ranks, ascending. Returns one source per rank.
  template <class Single>
  std::vector<RankSource> add_column(std::span<const std::int64_t> counts, const Single& single,
                                     std::span<const std::int64_t> ranks);

  const std::vector<std::int32_t>& segments() const { return segments_; }  // by column and bin
  const std::vector<std::int64_t>& cursors() const { return cursors_; }    // a segment's start
  const std::vector<RankQuery>& queries() const { return queries_; }
  std::int64_t n_gathered() const { return n_gathered_; }

 private:
  std::int64_t bins_per_column_;
  std::vector<std::int32_t> segments_;
  std::vector<std::int64_t> cursors_;
  std::vector<RankQuery> queries_;
  std::size_t lead_ = 0;  // first query of the last interval
  std::int64_t n_gathered_ = 0;
};

template <class Single>
std::vector<RankSource> RankPlan::add_column(std::span<const std::int64_t> counts,
                                             const Single& single,
                                             std::span<const std::int64_t> ranks) {
  const std::size_t row = segments_.size();
  segments_.resize(row + static_cast<std::size_t>(bins_per_column_), -1);
  std::vector<RankSource> sources;
  sources.reserve(ranks.size());
  std::size_t bin = 0;
  std::int64_t before = 0;  // values in the bins below
  for (const std::int64_t rank : ranks) {
    while (rank >= before + counts[bin]) before += counts[bin++];
    if (single(bin)) {
      sources.push_back({-1, static_cast<std::int64_t>(bin)});
      continue;
    }
    std::int32_t& segment = segments_[row + bin];
    if (segment < 0) {
      segment = static_cast<std::int32_t>(cursors_.size());
      cursors_.push_back(n_gathered_);
      n_gathered_ += counts[bin];
    }
    const std::int64_t begin = cursors_[static_cast<std::size_t>(segment)];
    const std::int64_t wanted = rank - before;
    const bool follows = !queries_.empty() && queries_.back().begin == begin;
    if (!follows) lead_ = queries_.size();
    if (!follows || queries_.back().rank != wanted) {
      queries_.push_back({begin, begin + counts[bin], wanted, 0, 0});
      ++queries_[lead_].n_run;
    }
    sources.push_back(
        {static_cast<std::int64_t>(queries_.size()) - 1, static_cast<std::int64_t>(bin)});
  }
  return sources;
}

// Adds a column by the ranks of its quantiles: sources[2 * i] and [2 * i + 1] belong to pair i.
template <class Single>
std::vector<RankSource> plan_ranks(RankPlan& plan, std::span<const std::int64_t> counts,
                                   const Single& single, std::span<const RankPair> pairs) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(2 * pairs.size());
  for (const RankPair& pair : pairs) {
    ranks.push_back(pair.below);
    ranks.push_back(pair.above);
  }
  if (std::is_sorted(ranks.begin(), ranks.end())) return plan.add_column(counts, single, ranks);
  // With few values, the pairs of adjacent levels interleave.
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<std::int64_t> sorted;
  for (const std::size_t i : order) sorted.push_back(ranks[i]);
  const std::vector<RankSource> found = plan.add_column(counts, single, sorted);
  std::vector<RankSource> sources(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) sources[order[i]] = found[i];
  return sources;
}

template <class V>
struct SingleValued {
  const V* thresholds;
  std::int32_t n;

  bool operator()(std::size_t bin) const {
    return holds_one_value(thresholds, n, static_cast<std::int32_t>(bin));
  }
};

}  // namespace causeway::tokenizer
