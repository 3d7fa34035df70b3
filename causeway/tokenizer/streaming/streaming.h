// Fitting what does not fit into memory, or lies on several machines. A first pass counts every
// part between splitters of its own; what the counts say together is a plan: the few stretches that
// hold a wanted rank. A second pass counts and collects those. Everything adds, so the edges are
// those of one fit of all rows, bit for bit, in whatever parts and order. After the first pass
// alone there are edges with a certified bound on how many ranks each is off.
//
//   PartialFit part = PartialFit::begin(first_batch, options);
//   do {
//     for (batch : batches) part.count(batch);
//     part.plan(memory);                        // rarely asks for one more pass
//   } while (part.needs_another_pass());
//   for (batch : batches) part.collect(batch);
//   const Tokenizer tok = part.finish();
//
// On several machines each begins by itself and counts its rows; one merges the parts and plans;
// each takes the plan, by fresh(), and collects; one merges those parts and finishes. Parts travel
// as tensors and text (state(), from_state()), which any safetensors writer makes a file of.
#pragma once

#include "causeway/tokenizer/fit/fit_columns.h"
#include "causeway/tokenizer/streaming/numeric_part.h"
#include "causeway/tokenizer/tokenizer.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace causeway::tokenizer {

inline constexpr int kPartialVersion = 1;

// A part as what a file of named tensors holds.
struct PartialState {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

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
  bool has_plan() const { return planned_; }
  // Rows counted or collected since the last plan.
  std::int64_t n_seen() const { return n_seen_; }
  void collect(const Table& batch);
  // Adds what another part counted or collected. Throws unless both are at the same step of one
  // fit: the same columns, options and plan.
  void merge(const PartialFit& other);
  // Throws unless the rows that were counted have all been collected.
  Tokenizer finish() const;

  // From the counts alone: edges each off by at most rank_errors() of its column's ranks. Bins'
  // counts are not known.
  Tokenizer estimate() const;
  // By column: the largest bound on an edge's error, as a share of its values; 0 for other kinds.
  std::vector<double> rank_errors() const;

  const Options& options() const { return options_; }
  std::vector<Column> columns() const;             // names, types and kinds
  std::int64_t n_rows() const { return n_rows_; }  // counted in the first pass

  // Everything, with a hash of it; and back. `name` is the file's, for messages: format errors for
  // what is no part, is of another version or is damaged.
  PartialState state() const;
  static PartialFit from_state(const PartialState& state, const std::string& name);

 private:
  friend class StateWriter;
  friend class StateReader;

  struct Part {
    Column column;
    NumericPart counted;
    NumericGather collected;
    CategoryCounts categories;
    TimeSpan times;
  };

  NumericGoal goal_of(const Part& part) const;
  bool has_values(const Part& part) const;
  // Whether this is the first pass over the rows.
  bool is_first() const { return plan_id_.empty(); }
  void merge_counted(Part& mine, const Part& theirs, std::int64_t their_rows);
  void require_all_rows() const;
  Column finish_numeric(const Part& part, bool exact) const;
  Tokenizer assemble(bool exact) const;

  Options options_;
  std::vector<Part> parts_;
  std::int64_t n_rows_ = 0;         // of the first pass
  std::int64_t n_seen_ = 0;         // of this pass
  std::int64_t planned_bytes_ = 0;  // of the last plan
  bool planned_ = false;
  bool again_ = false;
  std::string plan_id_;  // what the last plan was; empty in the first pass
};

}  // namespace causeway::tokenizer
