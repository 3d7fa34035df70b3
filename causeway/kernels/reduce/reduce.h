// Reductions over one axis of a contiguous cube (outer, axis, inner), and running sums of rows.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

enum class ReduceOp : std::uint8_t { sum, mean, prod, min, max, argmin, argmax };

std::string_view to_string(ReduceOp op);

// What dtype a reduction of `in` has: i64 for sums of integers and for positions, f32 for the mean
// of integers, otherwise its own.
DType result_dtype(ReduceOp op, DType in);

// `out` has outer * inner elements, all contiguous. Summation is by pairs, in an order that depends
// on the shape alone. min, max, argmin, argmax need axis > 0.
CAUSEWAY_KERNEL(reduce, ReduceOp op, const Operand& in, const Operand& out, Cube cube);
// Floating types; the divisor is axis - correction, or 0 where that is less.
CAUSEWAY_KERNEL(variance, const Operand& in, const Operand& out, Cube cube, double correction);
// Running sums along the rows of a contiguous matrix; `out` has the dtype of a sum.
CAUSEWAY_KERNEL(cumulative_sum, const Operand& in, const Operand& out, std::int64_t n_rows,
                std::int64_t n_columns);

}  // namespace causeway::kernels
