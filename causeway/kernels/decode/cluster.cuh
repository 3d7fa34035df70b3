// Blocks that draw one token together: a cluster, whose blocks write to each other's shared memory.
#pragma once

#include <cstdint>

// GPUs before Hopper have no clusters; there blocks work alone.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CAUSEWAY_CLUSTER_DIMS(size)
#else
#define CAUSEWAY_CLUSTER_DIMS(size) __cluster_dims__(size, 1, 1)
#endif

namespace causeway::kernels::cuda {

template <int kBlocks>
struct Cluster {
  __device__ __forceinline__ static int rank() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (kBlocks > 1) return static_cast<int>(__clusterRelativeBlockRank());
#endif
    return 0;
  }
  // A barrier of all threads of the cluster. What was written to shared memory before arrive() can
  // be read after wait().
  __device__ __forceinline__ static void arrive() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (kBlocks > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
  }
  __device__ __forceinline__ static void wait() {
    if constexpr (kBlocks == 1) {
      __syncthreads();
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
    }
  }
  __device__ __forceinline__ static void sync() {
    arrive();
    wait();
  }
  // The same variable in the shared memory of another block.
  template <class T>
  __device__ __forceinline__ static T* of_rank(T* shared, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (kBlocks > 1) {
      return static_cast<T*>(__cluster_map_shared_rank(shared, static_cast<unsigned>(rank)));
    }
#endif
    return shared;
  }
};

}  // namespace causeway::kernels::cuda
