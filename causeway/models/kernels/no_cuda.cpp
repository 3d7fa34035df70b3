// The CUDA kernels of a build without CUDA.
#include "causeway/kernels/absent.h"
#include "causeway/models/kernels/reversed_tables.h"
#include "causeway/models/kernels/scaled_queries.h"
#include "causeway/models/kernels/tabular.h"

namespace causeway::kernels::cuda {

CAUSEWAY_ABSENT(table_statistics, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(table_inputs, const TableInputs&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(table_targets, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&)

CAUSEWAY_ABSENT(reverse_tables, const Operand&, const Operand&, const Operand&, bool,
                const Operand&, const Operand&)

CAUSEWAY_ABSENT(scale_queries, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(scale_queries_gradient, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&)

}  // namespace causeway::kernels::cuda
