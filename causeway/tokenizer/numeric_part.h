// One numeric column of a streaming fit: counts between splitters, then the stretches that matter.
#pragma once

#include "causeway/tokenizer/blocks.h"
#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/order_statistics.h"
#include "causeway/tokenizer/rank_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace causeway::tokenizer {

class NumericPart {
 public:
  NumericPart() = default;
  NumericPart(const Block& sample, QuantileMethod method, std::vector<double> levels);

  NumericPart fresh() const;
  void count(const Block& batch);
  // How many values would be collected.
  std::int64_t plan();
  // Splits the stretches that were to be collected finer, and forgets the counts.
  void refine();
  // Makes room for what the plan says.
  void prepare();
  void collect(const Block& batch);
  void merge(const NumericPart& other);
  bool complete() const;  // all that was counted has been collected

  std::int64_t n_valid() const;
  std::int64_t n_missing() const;
  // One value a level: exact after collecting, else from the counts.
  std::vector<double> quantiles(bool exact) const;
  // The bound on the rank error of quantiles(false), as a share of the values.
  double rank_error() const;
  // How many values each bin holds; needs what was collected.
  std::vector<std::int64_t> bin_counts(const Bins& bins) const;
  std::size_t value_size() const { return size_of(dtype_); }

 private:
  // The gathered values as a tensor of the same memory.
  Tensor gathered_values() const;

  DType dtype_ = DType::f32;
  QuantileMethod method_ = QuantileMethod::linear;
  std::vector<double> levels_;
  GuideSet guides_;                   // of the one column, on the CPU
  std::vector<std::int64_t> counts_;  // by bin, the missing last
  std::vector<RankPair> pairs_;
  std::vector<RankSource> sources_;
  std::vector<std::int32_t> segments_;
  std::vector<std::int64_t> starts_;  // where each segment begins
  std::vector<RankQuery> queries_;
  std::vector<std::byte> gathered_;    // values, by segment
  std::vector<std::int64_t> cursors_;  // where each segment's next value goes
};

}  // namespace causeway::tokenizer
