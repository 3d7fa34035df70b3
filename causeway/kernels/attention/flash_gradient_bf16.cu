// The gradients for bf16, and the choice of the kernel; see flash_gradient.cuh.
#include "causeway/kernels/attention/flash_gradient.cuh"

namespace causeway::kernels::cuda {

extern template void run_flash_gradient<f16>(StreamView stream, const AttentionCall& call,
                                             const AttentionGradients& gradients);

void flash_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  if (whole_gradient_fits(shape)) return whole_gradient(stream, call, gradients);
  if (call.q.dtype == DType::bf16) return run_flash_gradient<bf16>(stream, call, gradients);
  run_flash_gradient<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
