// Quantiles of counted columns: which bins contain the wanted ranks and must be gathered, the order
// statistics of the gathered values, and interpolation. Planning runs on the device, so that a fit
// needs no host synchronisation.
#pragma once

#include "causeway/tokenizer/kernels/rank_plan_device.h"
#include "causeway/tokenizer/kernels/guide.h"

namespace causeway::kernels {

// The wanted quantiles: levels[firsts[c], firsts[c + 1]) of column c, ascending.
struct Levels {
  QuantileMethod method = QuantileMethod::linear;
  Operand levels;  // (n_levels) f64
  Operand firsts;  // (n_columns + 1) i64
};

// A plan of all columns. Query and answer 2 * i belong to the order statistic below level i, 2 * i
// + 1 to the one above.
struct PlannedRanks {
  Operand columns;      // n PlannedColumn, as bytes
  Operand taken;        // (1) i64, initially 0: used part of `gathered`
  Operand bounds;       // (n_columns, pitch + 1) i64: number of values below each bin
  Operand query_range;  // (n_columns, pitch, 2) i32: first and last query of each bin
  Operand starts;       // (n_columns, pitch + 1) i32, for gather_bins
  Operand queries;      // (2 * n_levels) RankQuery, as bytes; begin is -1 for none
  Operand answers;      // (2 * n_levels) of the columns' dtype
};

// Plans from `counts` of count_parts, and answers ranks in bins of a single value. Columns that do
// not fit in `room` values of `gathered`, or need more than 2^32, gather nothing; n_gathered is
// what they would need.
CAUSEWAY_KERNEL(plan_ranks, const Levels& levels, const Guides& guides, const Operand& counts,
                std::int64_t room, const PlannedRanks& plan);

// Answers (n_queries) RankQuery, as bytes. Reorders `gathered` within the intervals of the queries,
// which must be equal or disjoint. Queries outside of runs keep their answers.
CAUSEWAY_KERNEL(select_ranks, const Operand& gathered, const Operand& queries,
                const Operand& answers);

// The quantiles (n_levels) f64 from the answers; -0 is returned as 0. Columns without values get 0.
CAUSEWAY_KERNEL(blend_ranks, const Levels& levels, const PlannedRanks& plan,
                const Operand& quantiles);

}  // namespace causeway::kernels
