// Replaces the CUDA kernels in builds without CUDA.
#include "causeway/kernels/absent.h"
#include "causeway/tokenizer/kernels/binning.h"
#include "causeway/tokenizer/kernels/guide.h"
#include "causeway/tokenizer/kernels/ranks.h"
#include "causeway/tokenizer/kernels/tokens.h"

namespace causeway::kernels::cuda {

CAUSEWAY_ABSENT(sample_columns, const Columns&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(split_samples, const Operand&, const Operand&, const Guides&)
CAUSEWAY_ABSENT(build_guides, const Guides&)
CAUSEWAY_ABSENT(count_bins, const Columns&, const Guides&, const Operand&)
CAUSEWAY_ABSENT(cut_rows, const Columns&, const Guides&, std::int64_t&)
CAUSEWAY_ABSENT(count_parts, const Columns&, const Guides&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(gather_bins, const Columns&, const Guides&, const Operand&, const Operand&,
                const Operand&, const Operand&)
CAUSEWAY_ABSENT(plan_ranks, const Levels&, const Guides&, const Operand&, std::int64_t,
                const PlannedRanks&)
CAUSEWAY_ABSENT(blend_ranks, const Levels&, const PlannedRanks&, const Operand&)
CAUSEWAY_ABSENT(select_ranks, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(write_tokens, const Columns&, const Guides&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(piecewise_linear, const Columns&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(one_hot, const Operand&, const Operand&, const Operand&)

}  // namespace causeway::kernels::cuda
