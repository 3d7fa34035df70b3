// The second pass over one numeric column: counts between common thresholds, and the values of the
// intervals that contain a wanted rank. Its results are exact.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/streaming/numeric_split.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace causeway::tokenizer {

class NumericGather {
 public:
  NumericGather() = default;
  // `wanted` marks the intervals of the split to collect; starts empty.
  NumericGather(NumericSplit split, std::vector<bool> wanted);
  // From a saved state: `values` are those of the wanted intervals, concatenated.
  NumericGather(NumericSplit split, std::vector<bool> wanted, const Tensor& values);

  const NumericSplit& split() const { return split_; }
  const std::vector<bool>& wanted() const { return wanted_; }
  // The collected values by interval, each sorted; (n).
  Tensor values() const;

  NumericGather fresh() const;
  void collect(const Block& batch);
  void merge(const NumericGather& other);

  // One value per level; empty if there are no values. Throws if a wanted rank was not collected,
  // since the rows then differ from those planned for.
  std::vector<double> quantiles(QuantileMethod method, const std::vector<double>& levels) const;
  // Counts per bin. The edges must be quantiles from here, or part of the plan.
  std::vector<std::int64_t> bin_counts(const Bins& bins) const;

 private:
  std::size_t value_size() const { return size_of(split_.dtype()); }

  NumericSplit split_;
  std::vector<bool> wanted_;                      // by interval
  std::vector<std::vector<std::byte>> gathered_;  // by interval
};

}  // namespace causeway::tokenizer
