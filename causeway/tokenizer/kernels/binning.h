// Counting rows between thresholds, and gathering the values of chosen stretches between them.
#pragma once

#include "causeway/tokenizer/kernels/guide.h"

namespace causeway::kernels {

// Adds to `counts` (n_columns, pitch + 1) i64: entry b counts values that reached exactly b
// thresholds, the last entry what is missing.
CAUSEWAY_KERNEL(count_bins, const Columns& columns, const Guides& guides, const Operand& counts);

// How many parts the next two cut the rows of such a matrix into.
CAUSEWAY_KERNEL(cut_rows, const Columns& columns, const Guides& guides, std::int64_t& n_parts);

// Sets `counts` to what count_bins would add to nothing, and `before` (n_parts, n_columns,
// pitch + 1) i32, unsigned, to how many of a bin's values lie in the parts before.
CAUSEWAY_KERNEL(count_parts, const Columns& columns, const Guides& guides, const Operand& counts,
                const Operand& before);

// Copies the values of chosen bins to `gathered`, each bin to its own stretch: `starts` (n_columns,
// pitch + 1) i32, unsigned, says where a bin's begins behind its column's first (`planned`, n
// PlannedColumn as bytes), and is kNowhere for bins not chosen. `before` is as count_parts set it,
// and is used up. The order within a stretch is anyone's.
CAUSEWAY_KERNEL(gather_bins, const Columns& columns, const Guides& guides, const Operand& starts,
                const Operand& before, const Operand& planned, const Operand& gathered);

}  // namespace causeway::kernels
