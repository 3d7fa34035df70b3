// The CUDA kernels of a build without CUDA: no stream of such a device can exist, so none is
// called.
#include "causeway/core/error.h"
#include "causeway/kernels/activation.h"
#include "causeway/kernels/binning.h"
#include "causeway/kernels/convolution.h"
#include "causeway/kernels/cross_entropy.h"
#include "causeway/kernels/dropout.h"
#include "causeway/kernels/attention.h"
#include "causeway/kernels/elementwise.h"
#include "causeway/kernels/embedding.h"
#include "causeway/kernels/indexing.h"
#include "causeway/kernels/matmul.h"
#include "causeway/kernels/optimize.h"
#include "causeway/kernels/normalize.h"
#include "causeway/kernels/random.h"
#include "causeway/kernels/ranks.h"
#include "causeway/kernels/reduce.h"
#include "causeway/kernels/sort.h"
#include "causeway/kernels/tabular.h"
#include "causeway/kernels/tokens.h"

namespace causeway::kernels::cuda {

#define CAUSEWAY_ABSENT(name, ...)                                                        \
  void name(StreamView, __VA_ARGS__) {                                                    \
    fail(ErrorKind::device, #name, "this build has no CUDA support; use the cpu device"); \
  }

CAUSEWAY_ABSENT(unary, UnaryOp, const Operand&, const Operand&)
CAUSEWAY_ABSENT(binary, BinaryOp, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(compare, CompareOp, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(predicate, PredicateOp, const Operand&, const Operand&)
CAUSEWAY_ABSENT(where, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(clamp, const Operand&, Scalar, Scalar, const Operand&)
CAUSEWAY_ABSENT(fill, Scalar, const Operand&)
CAUSEWAY_ABSENT(copy, const Operand&, const Operand&)
CAUSEWAY_ABSENT(cast, const Operand&, const Operand&)
CAUSEWAY_ABSENT(reduce, ReduceOp, const Operand&, const Operand&, Cube)
CAUSEWAY_ABSENT(variance, const Operand&, const Operand&, Cube, double)
CAUSEWAY_ABSENT(cumulative_sum, const Operand&, const Operand&, std::int64_t, std::int64_t)
CAUSEWAY_ABSENT(sort, const Operand&, const Operand&, const Operand&, std::int64_t, std::int64_t,
                bool)
CAUSEWAY_ABSENT(index_select, const Operand&, const Operand&, const Operand&, Cube, std::int64_t,
                int)
CAUSEWAY_ABSENT(gather, const Operand&, const Operand&, const Operand&, Cube, std::int64_t, int)
CAUSEWAY_ABSENT(scatter, const Operand&, const Operand&, const Operand&, Cube, std::int64_t, int)
CAUSEWAY_ABSENT(scatter_add, const Operand&, const Operand&, const Operand&, Cube, std::int64_t,
                int)
CAUSEWAY_ABSENT(uniform, RandomKey, double, double, const Operand&)
CAUSEWAY_ABSENT(normal, RandomKey, double, double, const Operand&)
CAUSEWAY_ABSENT(integers, RandomKey, std::int64_t, std::uint64_t, const Operand&)
CAUSEWAY_ABSENT(unary_gradient, UnaryOp, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(activation, const Activation&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(activation_gradient, const Activation&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(loss, const Loss&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(loss_gradient, const Loss&, const Operand&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(begin_optimizer_step, const Operand&, std::int64_t)
CAUSEWAY_ABSENT(gradient_squares, const OptimizerTensors&, const Operand&)
CAUSEWAY_ABSENT(gradient_norm, const Operand&, double, const Operand&)
CAUSEWAY_ABSENT(optimizer_step, const OptimizerSettings&, const OptimizerTensors&, const Operand&)
CAUSEWAY_ABSENT(convolution, const Convolution&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(convolution_input_gradient, const Convolution&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(convolution_weight_gradient, const Convolution&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(pool, const Pooling&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(pool_gradient, const Pooling&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(linear, Epilogue, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&, bool)
CAUSEWAY_ABSENT(attention, const Attention&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(attention_gradient, const Attention&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(matmul, const Operand&, const Operand&, const Operand&, bool)
CAUSEWAY_ABSENT(matmul_add, double, const Operand&, const Operand&, double, const Operand&,
                const Operand&, bool)
CAUSEWAY_ABSENT(softmax, SoftmaxOp, const Operand&, const Operand&, std::int64_t, std::int64_t)
CAUSEWAY_ABSENT(softmax_gradient, SoftmaxOp, const Operand&, const Operand&, const Operand&,
                std::int64_t, std::int64_t)
CAUSEWAY_ABSENT(norm, const Norm&, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(norm_gradient, const Norm&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(batch_norm, const BatchNorm&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(batch_norm_gradient, const BatchNorm&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(target_weight, const CrossEntropy&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(cross_entropy, const CrossEntropy&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&)
CAUSEWAY_ABSENT(dropout, RandomKey, const Operand&, double, const Operand&, const Operand&)
CAUSEWAY_ABSENT(embedding_gradient, const Operand&, const Operand&, const Operand&, std::int64_t,
                std::int64_t, std::int64_t)
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
CAUSEWAY_ABSENT(table_statistics, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(table_inputs, const TableInputs&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&)
CAUSEWAY_ABSENT(table_targets, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&)

}  // namespace causeway::kernels::cuda
