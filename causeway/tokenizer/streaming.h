// Fitting what does not fit into memory, or lies on several machines: batches are counted against
// splitters that all parts share, the counts are added, and a second pass collects the few
// stretches that hold a wanted rank. The edges are those of one fit of everything, bit for bit.
// After the first pass alone there are edges with a certified bound on how many ranks each is off.
//
//   PartialFit part = PartialFit::begin(first_batch, options);
//   do {
//     for (batch : batches) part.count(batch);
//     part.plan(memory);                        // rarely asks for one more pass
//   } while (part.needs_another_pass());
//   for (batch : batches) part.collect(batch);
//   const Tokenizer tok = part.finish();
//
// Parts made by fresh() run apart, each over its own batches, and merge() after each pass; a plan
// is made once, by the merged part, and handed on by fresh() again.
#pragma once

#include "causeway/tokenizer/fit_columns.h"
#include "causeway/tokenizer/numeric_part.h"
#include "causeway/tokenizer/tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::tokenizer {

class PartialFit {
 public:
  PartialFit() = default;
  // Columns, kinds and splitters from some rows, the more like all the better; they are not
  // counted. Strategies quantile and uniform, and given edges; others need the whole column and
  // throw.
  static PartialFit begin(const Table& sample, const Options& options);

  // The same columns and, where there is one, the same plan, with nothing counted or collected.
  PartialFit fresh() const;

  void count(const Table& batch);
  // Ends a counting pass: what is to be collected, if it takes at most `memory` bytes; else finer
  // splitters where it matters, and another counting pass is needed.
  void plan(std::int64_t memory);
  bool needs_another_pass() const { return again_; }
  void collect(const Table& batch);
  // Adds what another part counted or collected since the two were one.
  void merge(const PartialFit& other);
  // Throws unless the batches that were counted have all been collected.
  Tokenizer finish() const;

  // From the counts alone: edges each off by at most rank_errors() of its column's ranks.
  Tokenizer estimate() const;
  // By column: the largest bound on an edge's error, as a share of all rows; 0 for other kinds.
  std::vector<double> rank_errors() const;

 private:
  struct Part {
    Column column;
    NumericPart numbers;
    CategoryCounts categories;
    TimeSpan times;
  };

  Tokenizer assemble(bool exact) const;

  Options options_;
  std::vector<Part> parts_;
  std::int64_t planned_bytes_ = 0;  // of the last plan
  bool planned_ = false;
  bool again_ = false;
};

}  // namespace causeway::tokenizer
