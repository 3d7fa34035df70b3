// The second pass over one numeric column: all rows counted between the same thresholds, and the
// values of the stretches that hold a wanted rank. What it finds is exact.
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
  // `wanted` says which of the split's stretches are collected; nothing is yet.
  NumericGather(NumericSplit split, std::vector<bool> wanted);
  // As it was: `values` are those of the wanted stretches, one after the other.
  NumericGather(NumericSplit split, std::vector<bool> wanted, const Tensor& values);

  const NumericSplit& split() const { return split_; }
  const std::vector<bool>& wanted() const { return wanted_; }
  // What was collected, stretch by stretch, each in its order; (n).
  Tensor values() const;

  NumericGather fresh() const;
  void collect(const Block& batch);
  void merge(const NumericGather& other);

  // One value a level; none where there are no values. Throws where a wanted rank was not
  // collected, since the rows are not those that were planned for.
  std::vector<double> quantiles(QuantileMethod method, const std::vector<double>& levels) const;
  // How many values each bin holds. The bins' edges are quantiles from here or were planned for.
  std::vector<std::int64_t> bin_counts(const Bins& bins) const;

 private:
  std::size_t value_size() const { return size_of(split_.dtype()); }

  NumericSplit split_;
  std::vector<bool> wanted_;                      // by stretch
  std::vector<std::vector<std::byte>> gathered_;  // by stretch
};

}  // namespace causeway::tokenizer
