// The gradient of an embedding lookup; the lookup itself is index_select.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// out[v, :] = sum of gradient[k, :] over all k with index[k] == v, in the order of k; rows that
// were not looked up are 0. `gradient` (n_indices, n_columns) and `out` (n_entries, n_columns) are
// contiguous and of one floating dtype, accumulated in f32 (f64); `index` is i64 and was checked by
// the lookup.
CAUSEWAY_KERNEL(embedding_gradient, const Operand& gradient, const Operand& index,
                const Operand& out, std::int64_t n_indices, std::int64_t n_entries,
                std::int64_t n_columns);

}  // namespace causeway::kernels
