// The gradients for f16; see flash_gradient.cuh.
#include "causeway/kernels/attention/flash_gradient.cuh"

namespace causeway::kernels::cuda {

template void run_flash_gradient<f16>(StreamView stream, const AttentionCall& call,
                                      const AttentionGradients& gradients);

}  // namespace causeway::kernels::cuda
