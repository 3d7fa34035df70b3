// Fitting data that does not fit into memory or is spread over several machines. A first pass
// counts every part between its own splitters; the combined counts give a plan: the few intervals
// that contain a wanted rank. A second pass counts and collects those. All results are sums, so the
// edges are those of one fit of all rows, bit for bit, for any parts and order. After the first
// pass alone there are edges with a certified bound on their rank error.
//
//   PartialFit part = PartialFit::begin(first_batch, options);
//   do {
//     for (batch : batches) part.count(batch);
//     part.plan(memory);                        // rarely requires another pass
//   } while (part.needs_another_pass());
//   for (batch : batches) part.collect(batch);
//   const Tokenizer tok = part.finish();
//
// On several machines, each begins on its own and counts its rows; one merges the parts and plans;
// each takes the plan with fresh() and collects; one merges those parts and finishes. Parts are
// exchanged as tensors and text (state(), from_state()), which can be saved as safetensors.
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

// A partial fit as named tensors and text.
struct PartialState {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

class PartialFit {
 public:
  PartialFit() = default;
  // Columns, kinds and splitters from a sample of the rows, which is not counted; it should be
  // representative. Supports the strategies quantile and uniform, and given edges; others need the
  // whole column and throw.
  static PartialFit begin(const Table& sample, const Options& options);

  // The same columns and plan, if any, with nothing counted or collected.
  PartialFit fresh() const;

  void count(const Table& batch);
  // Ends a counting pass: plans what to collect if it takes at most `memory` bytes; otherwise
  // refines the splitters, and another counting pass is needed.
  void plan(std::int64_t memory);
  bool needs_another_pass() const { return again_; }
  bool has_plan() const { return planned_; }
  // Rows counted or collected since the last plan.
  std::int64_t n_seen() const { return n_seen_; }
  void collect(const Table& batch);
  // Adds what another part counted or collected. Throws unless both have the same columns, options,
  // plan and step.
  void merge(const PartialFit& other);
  // Throws unless all counted rows have been collected.
  Tokenizer finish() const;

  // A tokenizer from the counts alone: each edge is off by at most rank_errors() of its column's
  // ranks. Bin counts are not available.
  Tokenizer estimate() const;
  // The largest bound on an edge's rank error per column, as a fraction of its values; 0 for other
  // kinds.
  std::vector<double> rank_errors() const;

  const Options& options() const { return options_; }
  std::vector<Column> columns() const;             // names, types and kinds
  std::int64_t n_rows() const { return n_rows_; }  // counted in the first pass

  // The complete state with a hash, and the inverse. `name` is the file name for messages. Throws
  // format errors if it is not a part, has another version or is damaged.
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
  std::string plan_id_;  // identifies the last plan; empty in the first pass
};

}  // namespace causeway::tokenizer
