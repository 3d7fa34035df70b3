// The first pass over one numeric column: every part of the rows is counted between splitters of
// its own, and what the counts say together names the stretches that hold the wanted ranks.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/streaming/numeric_gather.h"
#include "causeway/tokenizer/streaming/numeric_split.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace causeway::tokenizer {

// What is to be found in a column.
struct NumericGoal {
  QuantileMethod method = QuantileMethod::linear;
  std::vector<double> levels;  // of quantiles
  Bins bins;                   // whose edges are known before; their values' medians are wanted too
  bool with_medians = false;
};

class NumericPart {
 public:
  NumericPart() = default;
  // Of the type and split like the sample, of which nothing is counted.
  explicit NumericPart(const Block& sample) : splits_{NumericSplit(sample)} {}
  NumericPart(std::vector<NumericSplit> splits, bool adapts, double low, double high)
      : splits_(std::move(splits)), adapts_(adapts), low_(low), high_(high) {}

  DType dtype() const { return splits_.front().dtype(); }
  const std::vector<NumericSplit>& splits() const { return splits_; }
  bool adapts() const { return adapts_; }
  std::int64_t n_values() const;
  // The least and the greatest value, where with_range was asked for; of no values, inf and -inf.
  double low() const { return low_; }
  double high() const { return high_; }

  // The same splitters, nothing counted.
  NumericPart fresh() const;
  // Adds a batch; returns how many of its values are missing. Where the splitters do not suit it
  // and none were agreed on, it gets some of its own.
  std::int64_t count(const Block& batch, bool with_range);
  void merge(const NumericPart& other);

  // What the second pass has to collect; n_values is how many that are, at most.
  NumericGather plan(const NumericGoal& goal, std::int64_t& n_values) const;
  // For one more first pass: splitters that cut finer what would have to be collected.
  NumericPart refined(const NumericGoal& goal) const;

  // What is left of it after a plan: how many values there are, from where to where.
  NumericPart summary() const;

  // From the counts alone: one value a level, and the bound on their ranks' errors, as a share of
  // the values.
  std::vector<double> estimates(const NumericGoal& goal, double& rank_error) const;

 private:
  std::vector<NumericSplit> splits_;
  bool adapts_ = true;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace causeway::tokenizer
