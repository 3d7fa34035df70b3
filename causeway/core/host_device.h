// Marks a function as callable on host and device when compiled by a CUDA compiler.
#pragma once

// CAUSEWAY_HOST_DEVICE is for functions to inline, CAUSEWAY_HOST_DEVICE_CALL for functions that are
// large, used in many places and called rarely.
#if defined(__CUDACC__)
#define CAUSEWAY_HOST_DEVICE __host__ __device__ __forceinline__
#define CAUSEWAY_HOST_DEVICE_CALL __host__ __device__ __noinline__
#else
#define CAUSEWAY_HOST_DEVICE inline __attribute__((always_inline))
#define CAUSEWAY_HOST_DEVICE_CALL inline __attribute__((noinline))
#endif

// Returns the same pointer, with the promise that it points to global memory. The GPU then does not
// have to resolve the address space at each access.
template <class T>
CAUSEWAY_HOST_DEVICE T* of_device(T* pointer) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(pointer));
#endif
  return pointer;
}

// Before a loop with a small constant trip count over a local array: keeps the array in registers
// on a GPU.
#if defined(__CUDA_ARCH__)
#define CAUSEWAY_UNROLL _Pragma("unroll")
#else
#define CAUSEWAY_UNROLL
#endif

// Before a short loop that is not worth unrolling.
#if defined(__CUDA_ARCH__)
#define CAUSEWAY_NO_UNROLL _Pragma("unroll 1")
#else
#define CAUSEWAY_NO_UNROLL
#endif
