// Indexed reads and writes along one axis of a contiguous cube. Indices are i64; an index out of
// range is an error that names it (see runtime/fault.h), and nothing is read or written there.
#pragma once

#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// out[o, k, i] = in[o, index[k], i]; `cube` is the input's, `n_indices` the index's length.
CAUSEWAY_KERNEL(index_select, const Operand& in, const Operand& index, const Operand& out,
                Cube cube, std::int64_t n_indices, int axis);
// out[o, k, i] = in[o, index[o, k, i], i].
CAUSEWAY_KERNEL(gather, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);
// out[o, index[o, k, i], i] = in[o, k, i]; `cube` is the output's. Of several writes to one
// position, the one with the largest k wins.
CAUSEWAY_KERNEL(scatter, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);
// The same, with addition; additions to one position happen in the order of k.
CAUSEWAY_KERNEL(scatter_add, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                std::int64_t n_indices, int axis);

}  // namespace causeway::kernels
