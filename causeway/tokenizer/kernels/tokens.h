// Model inputs from values: token ids, piecewise-linear encoding, one-hot encoding.
#pragma once

#include "causeway/tokenizer/kernels/linear_piece_device.h"
#include "causeway/tokenizer/kernels/guide.h"

namespace causeway::kernels {

// The token ids of a column: bin b is first + b, a missing value `missing`, or negative if missing
// values are an error. `column` is the column's index in error messages.
struct TokenRule {
  std::int32_t first = 0;
  std::int32_t missing = -1;
  std::int32_t column = 0;
};

// Writes the tokens of all columns: `rules` is (n_columns) TokenRule, as bytes; `out` (n_rows,
// n_columns) u8, u16 or i32 with any strides. A missing value without a token is reported as a
// fault (runtime/fault.h) with its row and column.
CAUSEWAY_KERNEL(write_tokens, const Columns& columns, const Guides& guides, const Operand& rules,
                const Operand& out);

// `pieces` is (n_outputs) LinearPiece, as bytes; `out` (n_rows, n_outputs) f32, contiguous. Missing
// values give zeros.
CAUSEWAY_KERNEL(piecewise_linear, const Columns& columns, const Operand& pieces,
                const Operand& out);

// `tokens` (n_rows, n_columns) u8, u16 or i32, contiguous; `firsts` (n_columns + 1) i32: the
// outputs of column c are firsts[c] to firsts[c + 1] - 1. `out` (n_rows, firsts[n_columns]) u8 or
// f32, contiguous, is 1 at firsts[c] + token and 0 elsewhere.
CAUSEWAY_KERNEL(one_hot, const Operand& tokens, const Operand& firsts, const Operand& out);

}  // namespace causeway::kernels
