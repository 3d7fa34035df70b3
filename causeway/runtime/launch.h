// The function through which every kernel is launched. CUDA files only.
#pragma once

#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/stream.h"

#include <cuda_runtime.h>

#include <source_location>

namespace causeway {

// Launch configuration of a kernel, and the source location of the launch for error messages.
struct Launch {
  Launch(const char* kernel_name, StreamView on_stream, dim3 grid_size, dim3 block_size,
         std::size_t shared = 0, std::source_location place = std::source_location::current())
      : name(kernel_name),
        stream(on_stream),
        grid(grid_size),
        block(block_size),
        shared_bytes(shared),
        where(place) {}

  const char* name;
  StreamView stream;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;  // dynamic
  std::source_location where;
  // The kernel may start while the previous one finishes (programmatic dependent launch); it must
  // call wait_for_previous() before it accesses memory.
  bool overlaps = false;
  bool cooperates = false;  // all blocks run at the same time and may wait for each other

  Launch overlapping() const {
    Launch how = *this;
    how.overlaps = true;
    return how;
  }
  Launch cooperative() const {
    Launch how = *this;
    how.cooperates = true;
    return how;
  }
};

// Device function: waits until the previous kernel on the stream has finished. Only has an effect
// in kernels launched as overlapping.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

namespace internal {
// Whether CAUSEWAY_SYNC=1 is set: every launch is then synchronised, so that a fault names its
// kernel.
bool synchronize_launches();
}  // namespace internal

template <class... Params, class... Args>
void launch(const Launch& how, void (*kernel)(Params...), Args... args) {
  const driver::DeviceScope scope(how.stream.device().index);
  constexpr std::size_t kStaticLimit = 48 * 1024;
  if (how.shared_bytes > kStaticLimit) {
    driver::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(how.shared_bytes)),
                  how.name, how.where);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = how.grid;
  config.blockDim = how.block;
  config.dynamicSmemBytes = how.shared_bytes;
  config.stream = how.stream.handle();
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (how.overlaps) {
    cudaLaunchAttribute& overlap = attributes[config.numAttrs++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (how.cooperates) {
    cudaLaunchAttribute& cooperation = attributes[config.numAttrs++];
    cooperation.id = cudaLaunchAttributeCooperative;
    cooperation.val.cooperative = 1;
  }
  driver::check(cudaLaunchKernelEx(&config, kernel, Params(args)...), how.name, how.where);
  if (internal::synchronize_launches()) {
    driver::check(cudaStreamSynchronize(how.stream.handle()), how.name, how.where);
  }
}

}  // namespace causeway
