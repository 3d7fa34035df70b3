// What a tabular transformer reads of a batch of tables: for every row and column the numbers that
// one linear layer makes a token of. Column 0 is the target, the others the features.
#pragma once

#include "causeway/models/kernels/tabular_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// Tables lie padded: x (tables, rows, features) f32, NaN where a cell is missing, y (tables, rows)
// f32, a number in every row that is known; `sizes` (tables, 3) i64 has each one's rows, features,
// and rows whose target is known, which come first. All are contiguous.

// Of every feature, then of the target: the mean and one over the deviation of the known rows'
// finite numbers, (tables, features + 1, 2) f32; the latter is 0 of a constant, both of nothing.
CAUSEWAY_KERNEL(table_statistics, const Operand& x, const Operand& y, const Operand& sizes,
                const Operand& statistics);

// (tables, rows, features + 1, inputs.width()) of a floating dtype, or thinking + rows: as many as
// `out` has.
CAUSEWAY_KERNEL(table_inputs, const TableInputs& inputs, const Operand& x, const Operand& y,
                const Operand& sizes, const Operand& statistics, const Operand& out);

// What is to be said of every row, (tables, rows) i64: its class, or which stretch between
// `borders` (n,) f32, ascending, its standardised target falls into; -100 for rows that are known,
// have NaN or are none.
CAUSEWAY_KERNEL(table_targets, const Operand& y, const Operand& sizes, const Operand& statistics,
                const Operand& borders, const Operand& out);

}  // namespace causeway::kernels
