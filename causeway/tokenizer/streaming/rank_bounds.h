// Bounds on ranks from counts, where every part of the rows was counted between its own splitters:
// the minimum and maximum number of values below a splitter. Sums do not depend on the order of the
// parts, so neither do the bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace causeway::tokenizer {

// An interval that contains some ranks: from `low` (if bounded) to before `high` (if bounded).
template <class V>
struct Bracket {
  bool has_low = false;
  bool has_high = false;
  V low{};
  V high{};
  std::int64_t least = 0;  // lower bound of the values below `low`
  std::int64_t most = 0;   // upper bound of the values below `high`
};

template <class V>
class RankBounds {
 public:
  // One part: ascending thresholds, and one more count than thresholds.
  void add(std::span<const V> thresholds, std::span<const std::int64_t> counts) {
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      events_.push_back({thresholds[i], counts[i], counts[i + 1]});
    }
    for (std::size_t i = 0; i <= thresholds.size(); ++i) n_values_ += counts[i];
    first_ += counts[0];
  }

  // Must be called once, after all parts are added.
  void finalize() {
    std::sort(events_.begin(), events_.end(),
              [](const Event& a, const Event& b) { return a.at < b.at; });
    std::int64_t least = 0, most = first_;
    for (std::size_t i = 0; i < events_.size();) {
      std::size_t end = i;
      std::int64_t begun = 0;
      for (; end < events_.size() && events_[end].at == events_[i].at; ++end) {
        least += events_[end].ended;
        begun += events_[end].begun;
      }
      at_.push_back(events_[i].at);
      least_.push_back(least);
      most_.push_back(most);
      most += begun;
      i = end;
    }
    events_ = {};
  }

  std::int64_t n_values() const { return n_values_; }

  // Bounds on the number of values below `value`.
  std::int64_t least_below(V value) const {
    const auto after = std::upper_bound(at_.begin(), at_.end(), value) - at_.begin();
    return after == 0 ? 0 : least_[static_cast<std::size_t>(after) - 1];
  }
  std::int64_t most_below(V value) const {
    const auto from = std::lower_bound(at_.begin(), at_.end(), value) - at_.begin();
    return from == std::ssize(at_) ? n_values_ : most_[static_cast<std::size_t>(from)];
  }

  // The smallest interval that contains ranks `first` to `last`.
  Bracket<V> bracket(std::int64_t first, std::int64_t last) const {
    Bracket<V> found;
    const auto low = std::upper_bound(most_.begin(), most_.end(), first) - most_.begin() - 1;
    const auto high = std::upper_bound(least_.begin(), least_.end(), last) - least_.begin();
    found.has_low = low >= 0;
    if (found.has_low) found.low = at_[static_cast<std::size_t>(low)];
    if (found.has_low) found.least = least_[static_cast<std::size_t>(low)];
    found.has_high = high < std::ssize(at_);
    if (found.has_high) found.high = at_[static_cast<std::size_t>(high)];
    found.most = found.has_high ? most_[static_cast<std::size_t>(high)] : n_values_;
    return found;
  }

 private:
  struct Event {
    V at;
    std::int64_t ended;  // values of the interval that ends here
    std::int64_t begun;  // values of the interval that starts here
  };

  std::vector<Event> events_;
  std::int64_t first_ = 0;  // values of the first intervals of all parts
  std::int64_t n_values_ = 0;
  std::vector<V> at_;  // ascending
  std::vector<std::int64_t> least_;
  std::vector<std::int64_t> most_;
};

}  // namespace causeway::tokenizer
