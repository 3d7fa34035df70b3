// Counting rows between thresholds, and gathering the values of chosen intervals.
#pragma once

#include "causeway/tokenizer/kernels/guide.h"

namespace causeway::kernels {

// Adds to `counts` (n_columns, pitch + 1) i64: entry b counts values that reached exactly b
// thresholds, the last entry missing values.
CAUSEWAY_KERNEL(count_bins, const Columns& columns, const Guides& guides, const Operand& counts);

// Number of parts into which the next two kernels cut the rows of such a matrix.
CAUSEWAY_KERNEL(cut_rows, const Columns& columns, const Guides& guides, std::int64_t& n_parts);

// Sets `counts` like count_bins from zero, and `before` (n_parts, n_columns, pitch + 1) i32,
// unsigned, to the number of a bin's values in earlier parts.
CAUSEWAY_KERNEL(count_parts, const Columns& columns, const Guides& guides, const Operand& counts,
                const Operand& before);

// Copies the values of chosen bins to `gathered`, each bin to its own interval. `starts`
// (n_columns, pitch + 1) i32, unsigned, is the start of a bin relative to its column's first value
// (`planned`, n PlannedColumn as bytes), or kNotGathered. `before` comes from count_parts and is
// overwritten. The order within an interval is unspecified.
CAUSEWAY_KERNEL(gather_bins, const Columns& columns, const Guides& guides, const Operand& starts,
                const Operand& before, const Operand& planned, const Operand& gathered);

}  // namespace causeway::kernels
