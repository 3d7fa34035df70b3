// Reading and writing at indices along one axis of a contiguous cube. Indices are i64; one that is
// out of range is an error naming it (see runtime/fault.h), and nothing is read or written there.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// out[o, k, i] = in[o, index[k], i]; `cube` is the input's, `n_indices` the index's length.
CAUSEWAY_KERNEL(index_select, const Operand& in, const Operand& index, const Operand& out,
                Cube cube, std::int64_t n_indices, int axis);
// out[o, k, i] = in[o, index[o, k, i], i].
CAUSEWAY_KERNEL(gather, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);
// out[o, index[o, k, i], i] = in[o, k, i]; `cube` is the output's. Of several writes to one place
// the one with the largest k stands.
CAUSEWAY_KERNEL(scatter, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);
// The same, adding; several additions to one place happen in the order of k.
CAUSEWAY_KERNEL(scatter_add, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);

}  // namespace causeway::kernels
