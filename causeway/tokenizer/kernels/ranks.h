// Quantiles of counted columns: which bins hold the wanted ranks and have to be gathered, the order
// statistics of what was gathered, and what lies between two of them. The device plans for itself,
// so that a fit needs no word from the host.
#pragma once

#include "causeway/tokenizer/kernels/rank_plan_device.h"
#include "causeway/tokenizer/kernels/guide.h"

namespace causeway::kernels {

// The quantiles that are wanted: levels[firsts[c], firsts[c + 1]) of column c, ascending.
struct Levels {
  QuantileMethod method = QuantileMethod::linear;
  Operand levels;  // (n_levels) f64
  Operand firsts;  // (n_columns + 1) i64
};

// A plan of all columns. Query and answer 2 * i are of the order statistic below level i, 2 * i + 1
// of the one above.
struct PlannedRanks {
  Operand columns;  // n PlannedColumn, as bytes
  Operand taken;    // (1) i64, 0 before: how much of `gathered` is given away
  Operand bounds;   // (n_columns, pitch + 1) i64: how many values lie below each bin
  Operand askers;   // (n_columns, pitch, 2) i32: the first and the last query of each bin
  Operand starts;   // (n_columns, pitch + 1) i32, for gather_bins
  Operand queries;  // (2 * n_levels) RankQuery, as bytes; begin is -1 where there is none
  Operand answers;  // (2 * n_levels) of the columns' type
};

// Plans from `counts` of count_parts, and answers ranks that lie in bins of one value. Columns for
// which `room` values of `gathered` do not suffice, or whose own are more than 32 bits number,
// gather nothing; n_gathered says what they would.
CAUSEWAY_KERNEL(plan_ranks, const Levels& levels, const Guides& guides, const Operand& counts,
                std::int64_t room, const PlannedRanks& plan);

// Answers (n_queries) RankQuery, as bytes; `gathered` may be put into another order within the
// queries' stretches, which are equal or apart. Queries that are not of a run keep their answers.
CAUSEWAY_KERNEL(select_ranks, const Operand& gathered, const Operand& queries,
                const Operand& answers);

// The quantiles (n_levels) f64 from the answers; -0 comes as 0. Columns without values get 0.
CAUSEWAY_KERNEL(blend_ranks, const Levels& levels, const PlannedRanks& plan,
                const Operand& quantiles);

}  // namespace causeway::kernels
