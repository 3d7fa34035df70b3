// Reductions over one axis of a contiguous cube (outer, axis, inner), and cumulative sums of rows.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

enum class ReduceOp : std::uint8_t { sum, mean, prod, min, max, argmin, argmax };

std::string_view to_string(ReduceOp op);

// The dtype of a reduction of `in`: i64 for sums of integers and for positions, f32 for the mean of
// integers, otherwise that of `in`.
DType result_dtype(ReduceOp op, DType in);

// `out` has outer * inner elements; both are contiguous. Summation is pairwise, in an order that
// depends on the shape only. min, max, argmin, argmax need axis > 0.
CAUSEWAY_KERNEL(reduce, ReduceOp op, const Operand& in, const Operand& out, Cube cube);
// Floating types; the divisor is max(axis - correction, 0).
CAUSEWAY_KERNEL(variance, const Operand& in, const Operand& out, Cube cube, double correction);
// Cumulative sums along the rows of a contiguous matrix; `out` has the dtype of a sum.
CAUSEWAY_KERNEL(cumulative_sum, const Operand& in, const Operand& out, std::int64_t n_rows,
                std::int64_t n_columns);

}  // namespace causeway::kernels
