// The inputs of a tabular transformer for a batch of tables: the vectors that the encoder, a linear
// layer, turns into the tokens of every row. Token 0 is the target's, the others are the features'.
#pragma once

#include "causeway/models/kernels/tabular_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// Tables are padded: x (tables, rows, features) f32 with NaN for missing cells, y (tables, rows)
// f32 with a value for every context row, sizes (tables, 3) i64 with the rows, features and context
// rows of each table. Context rows come first. All are contiguous.

// For every feature, then the target: mean and inverse standard deviation of the context rows'
// finite values, (tables, features + 1, 2) f32. The latter is 0 for a constant, both are 0 without
// values.
CAUSEWAY_KERNEL(table_statistics, const Operand& x, const Operand& y, const Operand& sizes,
                const Operand& statistics);

// out: (tables, rows or thinking + rows, 1 + feature_tokens(features), inputs.width()), any
// floating dtype. For radial inputs `sorted` (tables, features, any) f32 are the context's finite
// values of each feature, ascending, padded with kNoValue; else it is empty.
CAUSEWAY_KERNEL(table_inputs, const TableInputs& inputs, const Operand& x, const Operand& y,
                const Operand& sizes, const Operand& statistics, const Operand& sorted,
                const Operand& out);

// The training target of every row, (tables, rows) i64: its class, or the bin of its standardised
// target between `borders` (n,) f32, ascending; -100 for context rows, padding and NaN.
CAUSEWAY_KERNEL(table_targets, const Operand& y, const Operand& sizes, const Operand& statistics,
                const Operand& borders, const Operand& out);

}  // namespace causeway::kernels
