// Marks a function as callable on both sides where a CUDA compiler reads it.
#pragma once

// CAUSEWAY_HOST_DEVICE is for what should melt into its caller, CAUSEWAY_HOST_DEVICE_CALL for what
// is large, used in many places and called seldom.
#if defined(__CUDACC__)
#define CAUSEWAY_HOST_DEVICE __host__ __device__ __forceinline__
#define CAUSEWAY_HOST_DEVICE_CALL __host__ __device__ __noinline__
#else
#define CAUSEWAY_HOST_DEVICE inline __attribute__((always_inline))
#define CAUSEWAY_HOST_DEVICE_CALL inline __attribute__((noinline))
#endif

// The same pointer, with the promise that it does not point to memory of a block or a thread: a GPU
// then needs not find out at every access.
template <class T>
CAUSEWAY_HOST_DEVICE T* of_device(T* pointer) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(pointer));
#endif
  return pointer;
}

// Before a loop of few, known steps over a local array: on a GPU the array then lies in registers.
#if defined(__CUDA_ARCH__)
#define CAUSEWAY_UNROLL _Pragma("unroll")
#else
#define CAUSEWAY_UNROLL
#endif

// Before a loop of a few steps that is not worth its copies.
#if defined(__CUDA_ARCH__)
#define CAUSEWAY_NO_UNROLL _Pragma("unroll 1")
#else
#define CAUSEWAY_NO_UNROLL
#endif
