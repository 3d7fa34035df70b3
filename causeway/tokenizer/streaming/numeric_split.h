// One numeric column split by thresholds, with the counts of the intervals between them.
#pragma once

#include "causeway/tokenizer/fit/blocks.h"
#include "causeway/tokenizer/fit/order_statistics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace causeway::tokenizer {

class NumericSplit {
 public:
  NumericSplit() = default;
  // Splitters from a sample of the rows; nothing is counted.
  explicit NumericSplit(const Block& sample);
  // Given thresholds, strictly ascending.
  template <class V>
  static NumericSplit over(std::vector<V> thresholds);

  // The thresholds as V, which must match the dtype.
  template <class V>
  std::span<const V> thresholds() const {
    return {guides.thresholds.data_as<V>(), counts.size() - 2};
  }
  // Counts per interval, without missing values.
  std::span<const std::int64_t> values() const {
    return std::span(counts).first(counts.size() - 1);
  }
  std::int64_t n_values() const;
  DType dtype() const { return guides.thresholds.dtype(); }

  // Counts of a batch, computed on its device: by interval, missing values last.
  std::vector<std::int64_t> count(const Block& batch) const;
  void add(std::span<const std::int64_t> more);
  // Whether an interval of several values has far more of a batch's values than its share.
  bool is_coarse_for(std::span<const std::int64_t> counted) const;
  bool same_thresholds(const NumericSplit& other) const;

  GuideSet guides;                   // of the column, on the CPU
  std::vector<std::int64_t> counts;  // two more than there are thresholds
};

}  // namespace causeway::tokenizer
