// The CUDA kernels of a build without CUDA.
#include "causeway/kernels/absent.h"
#include "causeway/kernels/activation/activation.h"
#include "causeway/kernels/activation/swiglu.h"
#include "causeway/kernels/attention/attention.h"
#include "causeway/kernels/convolution/convolution.h"
#include "causeway/kernels/cross_entropy/cross_entropy.h"
#include "causeway/kernels/decode/decode_model.h"
#include "causeway/kernels/dropout/dropout.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/embedding/embedding.h"
#include "causeway/kernels/indexing/indexing.h"
#include "causeway/kernels/int8/int8.h"
#include "causeway/kernels/libraries.h"
#include "causeway/kernels/matmul/matmul.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/optimizer/optimizer.h"
#include "causeway/kernels/random/random.h"
#include "causeway/kernels/reduce/reduce.h"
#include "causeway/kernels/rotary/rotary.h"
#include "causeway/kernels/sort/sort.h"

namespace causeway::kernels {

LibraryStatus cublas_status() { return {"", "", "this build has no CUDA"}; }
LibraryStatus cudnn_status() { return {"", "", "this build has no CUDA"}; }

}  // namespace causeway::kernels

namespace causeway::kernels::cuda {

CAUSEWAY_ABSENT(unary, UnaryOp, const Operand&, const Operand&)
CAUSEWAY_ABSENT(binary, BinaryOp, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(compare, CompareOp, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(predicate, PredicateOp, const Operand&, const Operand&)
CAUSEWAY_ABSENT(where, const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(clamp, const Operand&, Scalar, Scalar, const Operand&)
CAUSEWAY_ABSENT(fill, Scalar, const Operand&)
CAUSEWAY_ABSENT(sequence, Scalar, Scalar, const Operand&)
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
CAUSEWAY_ABSENT(rotary, const Rotary&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(swiglu, const Operand&, const Operand&)
CAUSEWAY_ABSENT(swiglu_gradient, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(dropout, RandomKey, const Operand&, double, const Operand&, const Operand&)
CAUSEWAY_ABSENT(embedding_gradient, const Operand&, const Operand&, const Operand&, std::int64_t,
                std::int64_t, std::int64_t)
int decode_blocks(Device) { return 0; }
bool can_decode_model(Device, const DecodeModel&) { return false; }
std::int64_t decode_exchange_size(const DecodeModel&) { return 0; }
CAUSEWAY_ABSENT(decode_model, const DecodeModel&)
CAUSEWAY_ABSENT(decode_attention, const DecodeAttention&, const Operand&, const Operand&,
                const Operand&, const Operand&, const Operand&, const Operand&)
CAUSEWAY_ABSENT(decode_embed, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&)
CAUSEWAY_ABSENT(quantize_rows, const Operand&, const Operand&, const Operand&)
bool takes_int8_linear(Device, std::int64_t, std::int64_t, std::int64_t) { return false; }
CAUSEWAY_ABSENT(int8_linear, const Operand&, const Operand&, const Operand&, const Operand&,
                const Operand&, const Operand&)
CAUSEWAY_ABSENT(sample_tokens, const SampleTokens&, const Operand&, const Operand&, const Operand&)

}  // namespace causeway::kernels::cuda
