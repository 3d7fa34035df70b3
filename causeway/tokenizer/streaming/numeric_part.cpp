#include "causeway/tokenizer/streaming/numeric_part.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/streaming/rank_bounds.h"
#include "causeway/tokenizer/streaming/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::tokenizer {

namespace {

using kernels::dispatch_column_type;
constexpr std::size_t kMostSplits = 64;  // per part

template <class V>
RankBounds<V> bounds_of(const std::vector<NumericSplit>& splits) {
  RankBounds<V> bounds;
  for (const NumericSplit& split : splits) bounds.add(split.thresholds<V>(), split.values());
  bounds.finalize();
  return bounds;
}

template <class V>
bool is_one_value(const Bracket<V>& interval) {
  if (!interval.has_low) return false;
  const V next = next_above(interval.low);
  return interval.has_high ? next == interval.high : next == interval.low;
}

// Intervals that may contain the medians of bins with known edges: their ranks follow from the
// bounds on the number of values below each edge.
template <class V>
void add_medians(const NumericGoal& goal, const RankBounds<V>& bounds,
                 std::vector<Bracket<V>>& wanted) {
  const std::vector<V> inner = thresholds_of<V>(goal.bins);
  const std::int64_t n = bounds.n_values();
  const auto rank = [&](std::int64_t before, std::int64_t after) {
    const double middle = 0.5 * static_cast<double>(before) + 0.5 * static_cast<double>(after);
    const double level = std::min(middle / static_cast<double>(n), 1.0);
    return ranks_of(QuantileMethod::inverted_cdf, level, n).below;
  };
  std::int64_t least = 0, most = 0;  // below the bin's lower edge
  for (std::size_t i = 0; i <= inner.size(); ++i) {
    const bool last = i == inner.size();
    const std::int64_t next_least = last ? n : bounds.least_below(inner[i]);
    const std::int64_t next_most = last ? n : bounds.most_below(inner[i]);
    if (next_most > least) {
      wanted.push_back(bounds.bracket(rank(least, next_least), rank(most, next_most)));
    }
    least = next_least;
    most = next_most;
  }
}

// The intervals that contain the wanted ranks, by their lower ends.
template <class V>
std::vector<Bracket<V>> wanted_intervals(const NumericGoal& goal, const RankBounds<V>& bounds) {
  std::vector<Bracket<V>> wanted;
  const std::int64_t n = bounds.n_values();
  if (n == 0) return wanted;
  for (const double level : goal.levels) {
    const RankPair pair = ranks_of(goal.method, level, n);
    wanted.push_back(bounds.bracket(pair.below, pair.below));
    if (pair.above != pair.below) wanted.push_back(bounds.bracket(pair.above, pair.above));
  }
  if (goal.with_medians && !goal.bins.edges.empty()) add_medians(goal, bounds, wanted);
  std::sort(wanted.begin(), wanted.end(), [](const Bracket<V>& a, const Bracket<V>& b) {
    return a.has_low != b.has_low ? b.has_low : a.has_low && a.low < b.low;
  });
  return wanted;
}

// Merges overlapping and adjacent intervals; drops those of a single value.
template <class V>
std::vector<Bracket<V>> joined(const std::vector<Bracket<V>>& intervals) {
  std::vector<Bracket<V>> out;
  for (const Bracket<V>& next : intervals) {
    if (is_one_value(next)) continue;
    if (out.empty() || (out.back().has_high && next.has_low && out.back().high < next.low)) {
      out.push_back(next);
      continue;
    }
    Bracket<V>& last = out.back();
    if (last.has_high && (!next.has_high || last.high < next.high)) {
      last.has_high = next.has_high;
      last.high = next.high;
    }
    last.most = std::max(last.most, next.most);
  }
  return out;
}

template <class V>
void add_ends(const std::vector<Bracket<V>>& intervals, std::vector<V>& ends) {
  for (const Bracket<V>& interval : intervals) {
    if (interval.has_low) ends.push_back(interval.low);
    if (interval.has_high) ends.push_back(interval.high);
  }
}

template <class V>
void sort_once(std::vector<V>& values) {
  for (V& value : values) value = static_cast<V>(value + V(0));  // -0 becomes 0
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Consecutive pairs, with the values between them.
template <class V>
std::vector<Bracket<V>> paired(const std::vector<Bracket<V>>& intervals) {
  std::vector<Bracket<V>> out;
  for (std::size_t i = 0; i < intervals.size(); i += 2) {
    const Bracket<V>& last = intervals[std::min(i + 1, intervals.size() - 1)];
    out.push_back(intervals[i]);
    out.back().has_high = last.has_high;
    out.back().high = last.high;
    out.back().most = last.most;
  }
  if (intervals.size() == 1) out[0] = {false, false, V{}, V{}, 0, intervals[0].most};
  return out;
}

// Whether an interval that starts at `low`, or is unbounded below, lies in one of these.
template <class V>
bool contains_start(const std::vector<Bracket<V>>& intervals, bool has_low, V low) {
  const auto after =
      std::partition_point(intervals.begin(), intervals.end(), [&](const Bracket<V>& interval) {
        return !interval.has_low || (has_low && interval.low <= low);
      });
  if (after == intervals.begin()) return false;
  const Bracket<V>& last = *(after - 1);
  return !last.has_high || !has_low || low < last.high;
}

// `n` new thresholds in [low, high], equally spaced in key space.
template <class V>
void split_evenly(SortKey<V> low, SortKey<V> high, std::int64_t n, std::vector<V>& out) {
  const auto width = static_cast<double>(high - low);
  for (std::int64_t i = 1; i <= n; ++i) {
    const auto step =
        static_cast<SortKey<V>>(width * (static_cast<double>(i) / static_cast<double>(n + 1)));
    V value;
    value_of_key(static_cast<SortKey<V>>(low + step), value);
    out.push_back(value);
  }
}

template <class V>
SortKey<V> lowest_key() {
  if constexpr (std::is_floating_point_v<V>) return sort_key(-std::numeric_limits<V>::infinity());
  return 0;
}
template <class V>
SortKey<V> highest_key() {
  if constexpr (std::is_floating_point_v<V>) return sort_key(std::numeric_limits<V>::infinity());
  return static_cast<SortKey<V>>(~SortKey<V>{0});
}

}  // namespace

std::int64_t NumericPart::n_values() const {
  std::int64_t n = 0;
  for (const NumericSplit& split : splits_) n += split.n_values();
  return n;
}

NumericPart NumericPart::fresh() const {
  NumericPart part;
  part.adapts_ = adapts_;
  part.splits_ = {splits_.front()};
  auto& counts = part.splits_.front().counts;
  std::fill(counts.begin(), counts.end(), 0);
  return part;
}

std::int64_t NumericPart::count(const Block& batch, bool with_range) {
  if (batch.matrix.numel() == 0) return 0;
  if (batch.matrix.dtype() != dtype()) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("batches differ in type: {} after {}", to_string(batch.matrix.dtype()),
                     to_string(dtype())));
  }
  std::vector<std::int64_t> found = splits_.back().count(batch);
  if (adapts_ && splits_.size() < kMostSplits && splits_.back().is_coarse_for(found)) {
    NumericSplit own(batch);
    found = own.count(batch);
    splits_.push_back(std::move(own));
  }
  splits_.back().add(found);
  if (with_range) {
    TableColumn column;
    column.numbers = batch.matrix.select(1, 0);
    if (batch.missing.numel() > 0) column.missing = batch.missing.select(1, 0);
    for (const double value : host_values(column)) {
      if (value < low_) low_ = value + 0.0;
      if (value > high_) high_ = value + 0.0;
    }
  }
  return found.back();
}

void NumericPart::merge(const NumericPart& other) {
  for (const NumericSplit& split : other.splits_) {
    const auto mine = std::find_if(
        splits_.begin(), splits_.end(),
        [&](const NumericSplit& candidate) { return candidate.same_thresholds(split); });
    if (mine == splits_.end()) {
      splits_.push_back(split);
    } else {
      mine->add(split.counts);
    }
  }
  low_ = std::min(low_, other.low_);
  high_ = std::max(high_, other.high_);
}

NumericGather NumericPart::plan(const NumericGoal& goal, std::int64_t& n_values) const {
  return dispatch_column_type(dtype(), [&](auto tag) {
    using V = decltype(tag);
    const auto wanted = wanted_intervals(goal, bounds_of<V>(splits_));
    std::vector<Bracket<V>> collected = joined(wanted);
    const std::vector<V> known =
        goal.bins.edges.empty() ? std::vector<V>() : thresholds_of<V>(goal.bins);
    std::vector<V> ends = known;
    add_ends(wanted, ends);
    sort_once(ends);
    while (std::ssize(ends) >= kMostThresholds) {  // collect more instead
      ends = known;
      add_ends(collected, ends);
      sort_once(ends);
      if (std::ssize(ends) >= kMostThresholds) collected = paired(collected);
    }
    n_values = 0;
    for (const Bracket<V>& interval : collected) n_values += interval.most - interval.least;
    std::vector<bool> flags;
    for (std::size_t bin = 0; bin <= ends.size(); ++bin) {
      const bool one = causeway::holds_one_value(
          ends.data(), static_cast<std::int32_t>(ends.size()), static_cast<std::int32_t>(bin));
      flags.push_back(!one && contains_start(collected, bin > 0, bin > 0 ? ends[bin - 1] : V{}));
    }
    return NumericGather(NumericSplit::over<V>(std::move(ends)), std::move(flags));
  });
}

NumericPart NumericPart::refined(const NumericGoal& goal) const {
  return dispatch_column_type(dtype(), [&](auto tag) {
    using V = decltype(tag);
    const auto wanted = wanted_intervals(goal, bounds_of<V>(splits_));
    const auto collected = joined(wanted);
    double total = 0;
    for (const Bracket<V>& interval : collected) {
      total += static_cast<double>(interval.most - interval.least);
    }
    // Both ends of every interval, and as many cuts inside; a GPU holds this many in shared memory.
    constexpr std::int64_t kUsual = 4095;
    const std::int64_t n_hit = std::ssize(collected);
    const std::int64_t room =
        std::min<std::int64_t>(std::max(kUsual, 4 * n_hit), kMostThresholds - 1);
    std::vector<V> finer;
    for (const Bracket<V>& interval : collected) {
      // Distributes the thresholds by each interval's share of the values.
      const auto free = static_cast<double>(std::max<std::int64_t>(room - 3 * n_hit, 0));
      const auto own = static_cast<double>(interval.most - interval.least);
      split_evenly<V>(interval.has_low ? sort_key(interval.low) : lowest_key<V>(),
                      interval.has_high ? sort_key(interval.high) : highest_key<V>(),
                      static_cast<std::int64_t>(free * own / std::max(total, 1.0)) + 1, finer);
    }
    add_ends(collected, finer);
    for (const Bracket<V>& interval : wanted) {  // an interval of a single value stays separate
      if (is_one_value(interval)) add_ends(std::vector<Bracket<V>>{interval}, finer);
    }
    sort_once(finer);
    if (std::ssize(finer) >= kMostThresholds) finer.resize(kMostThresholds - 1);
    NumericPart part = fresh();
    part.adapts_ = false;
    part.splits_ = {NumericSplit::over<V>(std::move(finer))};
    part.low_ = low_;
    part.high_ = high_;
    return part;
  });
}

NumericPart NumericPart::summary() const {
  return dispatch_column_type(dtype(), [&](auto tag) {
    NumericSplit all = NumericSplit::over<decltype(tag)>({});
    all.counts = {n_values(), 0};
    return NumericPart({std::move(all)}, false, low_, high_);
  });
}

std::vector<double> NumericPart::estimates(const NumericGoal& goal, double& rank_error) const {
  rank_error = 0;
  return dispatch_column_type(dtype(), [&](auto tag) {
    using V = decltype(tag);
    std::vector<double> values;
    const RankBounds<V> bounds = bounds_of<V>(splits_);
    const std::int64_t n = bounds.n_values();
    if (n == 0) return values;
    std::int64_t worst = 0;
    // The end of the rank's interval with the smaller error bound.
    const auto value = [&](std::int64_t rank) -> V {
      const Bracket<V> found = bounds.bracket(rank, rank);
      if (is_one_value(found)) return static_cast<V>(found.low + V(0));
      const std::int64_t below = rank - found.least, above = found.most - rank;
      const bool upper = found.has_high && (!found.has_low || above < below);
      worst = std::max(worst, upper ? above : found.has_low ? below : n);
      return upper ? found.high : found.has_low ? found.low : V(0);
    };
    for (const double level : goal.levels) {
      const RankPair pair = ranks_of(goal.method, level, n);
      const double edge = interpolate(value(pair.below), value(pair.above), pair.weight);
      values.push_back(values.empty() ? edge : std::max(edge, values.back()));
    }
    rank_error = static_cast<double>(worst) / static_cast<double>(n);
    return values;
  });
}

}  // namespace causeway::tokenizer
