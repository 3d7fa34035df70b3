// Counting rows between thresholds, and finding order statistics with the help of the counts: only
// the stretches that hold a wanted rank are gathered and looked into.
#pragma once

#include "causeway/kernels/guide.h"

namespace causeway::kernels {

// Adds to `counts` (n_columns, pitch + 1) i64: entry b counts values that reached exactly b
// thresholds, the last entry what is missing.
CAUSEWAY_KERNEL(count_bins, const Columns& columns, const Guides& guides, const Operand& counts);

// Copies the values of chosen bins to `gathered`, each bin to its own stretch: `segments`
// (n_columns, pitch) i32 numbers the chosen bins and is -1 elsewhere, `cursors` (n_segments) i64
// says where a segment's next value goes and moves on. The order within a segment is anyone's.
CAUSEWAY_KERNEL(gather_bins, const Columns& columns, const Guides& guides, const Operand& segments,
                const Operand& cursors, const Operand& gathered);

// A wanted order statistic: the rank-th smallest, from 0, of gathered[begin, end).
struct RankQuery {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t rank = 0;
};

// Answers (n_queries) RankQuery, as bytes; `gathered` may be put into another order within the
// queries' stretches, which are equal or apart, equal ones side by side.
CAUSEWAY_KERNEL(select_ranks, const Operand& gathered, const Operand& queries,
                const Operand& answers);

}  // namespace causeway::kernels
