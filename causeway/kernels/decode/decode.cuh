// What the kernels of text generation share on the GPU.
#pragma once

#include "causeway/runtime/launch.h"

namespace causeway::kernels::cuda {

// Device function: lets the next kernel on the stream start, if it was launched as overlapping. It
// fetches its weights and then waits for this kernel (wait_for_previous).
__device__ __forceinline__ void start_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace causeway::kernels::cuda
