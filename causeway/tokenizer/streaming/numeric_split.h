// One numeric column cut by splitters, and how many of its values lie in every stretch between.
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
  // Thresholds as given, ascending and none twice.
  template <class V>
  static NumericSplit over(std::vector<V> thresholds);

  // The thresholds as V, which must be what they are.
  template <class V>
  std::span<const V> thresholds() const {
    return {guides.thresholds.data_as<V>(), counts.size() - 2};
  }
  // How many values lie in each stretch, without the missing.
  std::span<const std::int64_t> values() const {
    return std::span(counts).first(counts.size() - 1);
  }
  std::int64_t n_values() const;
  DType dtype() const { return guides.thresholds.dtype(); }

  // A batch's counts, on the batch's device: by stretch, the missing last.
  std::vector<std::int64_t> count(const Block& batch) const;
  void add(std::span<const std::int64_t> more);
  // Whether a stretch of several values holds much more of a batch's counts than it should.
  bool is_coarse_for(std::span<const std::int64_t> counted) const;
  bool same_thresholds(const NumericSplit& other) const;

  GuideSet guides;                   // of the one column, on the CPU
  std::vector<std::int64_t> counts;  // two more than there are thresholds
};

}  // namespace causeway::tokenizer
