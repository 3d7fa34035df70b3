// The gradient of rows picked from a table; the picking itself is index_select.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// out[v, :] = sum of gradient[k, :] over all k with index[k] == v, in the order of k; rows nobody
// picked are 0. `gradient` (n_indices, n_columns) and `out` (n_entries, n_columns) are contiguous
// and of one floating dtype, summed in f32 (f64); `index` is i64, checked when the rows were
// picked.
CAUSEWAY_KERNEL(embedding_gradient, const Operand& gradient, const Operand& index,
                const Operand& out, std::int64_t n_indices, std::int64_t n_entries,
                std::int64_t n_columns);

}  // namespace causeway::kernels
