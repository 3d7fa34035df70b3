// The first pass over one numeric column: every part of the rows is counted between its own
// splitters; the combined counts determine the intervals that contain the wanted ranks.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/streaming/numeric_gather.h"
#include "causeway/tokenizer/streaming/numeric_split.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace causeway::tokenizer {

// The statistics to compute for a column.
struct NumericGoal {
  QuantileMethod method = QuantileMethod::linear;
  std::vector<double> levels;  // of quantiles
  Bins bins;                   // with known edges; the medians of their values are needed too
  bool with_medians = false;
};

class NumericPart {
 public:
  NumericPart() = default;
  // The dtype and splitters of the sample; nothing is counted.
  explicit NumericPart(const Block& sample) : splits_{NumericSplit(sample)} {}
  NumericPart(std::vector<NumericSplit> splits, bool adapts, double low, double high)
      : splits_(std::move(splits)), adapts_(adapts), low_(low), high_(high) {}

  DType dtype() const { return splits_.front().dtype(); }
  const std::vector<NumericSplit>& splits() const { return splits_; }
  bool adapts() const { return adapts_; }
  std::int64_t n_values() const;
  // Minimum and maximum if with_range was set; inf and -inf without values.
  double low() const { return low_; }
  double high() const { return high_; }

  // The same splitters with zero counts.
  NumericPart fresh() const;
  // Adds a batch; returns its number of missing values. A batch that the splitters do not suit gets
  // new ones, unless they are fixed by a plan.
  std::int64_t count(const Block& batch, bool with_range);
  void merge(const NumericPart& other);

  // Determines what the second pass collects; n_values is an upper bound of its size.
  NumericGather plan(const NumericGoal& goal, std::int64_t& n_values) const;
  // Finer splitters for another first pass, where too much would be collected.
  NumericPart refined(const NumericGoal& goal) const;

  // What is kept after planning: number of values, minimum and maximum.
  NumericPart summary() const;

  // Estimates from the counts alone: one value per level, and the bound on their rank errors as a
  // fraction of the values.
  std::vector<double> estimates(const NumericGoal& goal, double& rank_error) const;

 private:
  std::vector<NumericSplit> splits_;
  bool adapts_ = true;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace causeway::tokenizer
