// The forward pass for f16; see flash.cuh.
#include "causeway/kernels/attention/flash.cuh"

namespace causeway::kernels::cuda {

template void run_flash_attention<f16>(StreamView stream, const AttentionCall& call);

}  // namespace causeway::kernels::cuda
