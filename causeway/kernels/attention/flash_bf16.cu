// The forward pass for bf16, and the dispatch between bf16 and f16; see flash.cuh.
#include "causeway/kernels/attention/flash.cuh"

namespace causeway::kernels::cuda {

extern template void run_flash_attention<f16>(StreamView stream, const AttentionCall& call);

void flash_attention(StreamView stream, const AttentionCall& call) {
  if (call.q.dtype == DType::bf16) return run_flash_attention<bf16>(stream, call);
  run_flash_attention<f16>(stream, call);
}

}  // namespace causeway::kernels::cuda
