#include "causeway/tokenizer/rank_plan.h"

#include <algorithm>
#include <numeric>

namespace causeway::tokenizer {

std::vector<RankSource> RankPlan::add_column(std::span<const std::int64_t> counts,
                                             const std::vector<bool>& single,
                                             std::span<const std::int64_t> ranks) {
  const std::size_t row = segments_.size();
  segments_.resize(row + static_cast<std::size_t>(bins_per_column_), -1);
  std::vector<RankSource> sources;
  sources.reserve(ranks.size());
  std::size_t bin = 0;
  std::int64_t before = 0;  // values in the bins below
  for (const std::int64_t rank : ranks) {
    while (rank >= before + counts[bin]) before += counts[bin++];
    if (single[bin]) {
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
    const bool repeats =
        !queries_.empty() && queries_.back().begin == begin && queries_.back().rank == wanted;
    if (!repeats) queries_.push_back({begin, begin + counts[bin], wanted});
    sources.push_back(
        {static_cast<std::int64_t>(queries_.size()) - 1, static_cast<std::int64_t>(bin)});
  }
  return sources;
}

std::vector<RankSource> plan_ranks(RankPlan& plan, std::span<const std::int64_t> counts,
                                   const std::vector<bool>& single,
                                   std::span<const RankPair> pairs) {
  // below and above of neighbouring levels may cross by one rank; a plan takes them in order.
  const auto rank = [&](std::size_t i) {
    return i % 2 == 0 ? pairs[i / 2].below : pairs[i / 2].above;
  };
  std::vector<std::size_t> order(2 * pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  std::vector<std::int64_t> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(rank(i));
  const std::vector<RankSource> found = plan.add_column(counts, single, sorted);
  std::vector<RankSource> sources(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) sources[order[i]] = found[i];
  return sources;
}

}  // namespace causeway::tokenizer
