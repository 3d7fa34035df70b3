// Marks a function as callable on both sides where a CUDA compiler reads it.
#pragma once

#if defined(__CUDACC__)
#define CAUSEWAY_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define CAUSEWAY_HOST_DEVICE inline __attribute__((always_inline))
#endif
