// Sorting rows of a contiguous matrix.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// Sorts each row of `in` (n_rows, n_columns), stably; NaN is larger than everything, -0 equals 0.
// `values` has the dtype of `in`, `indices` is i64.
CAUSEWAY_KERNEL(sort, const Operand& in, const Operand& values, const Operand& indices,
                std::int64_t n_rows, std::int64_t n_columns, bool descending);

}  // namespace causeway::kernels
