// Operations of a block's threads in reductions and scans, and the detection of the last block
// among those that share an output.
#pragma once

#include "causeway/kernels/vectors.cuh"
#include "causeway/kernels/reduce/reducers_device.h"

#include <cstdint>

namespace causeway::kernels::cuda {

// The value, of any size, of the lane `distance` higher.
template <class Acc>
__device__ __forceinline__ Acc shuffle_down(const Acc& value, int distance) {
  static_assert(sizeof(Acc) % 4 == 0);
  constexpr int kWords = sizeof(Acc) / 4;
  std::uint32_t words[kWords];
  memcpy(words, &value, sizeof(Acc));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(0xffffffffu, words[i], distance);
  Acc moved;
  memcpy(&moved, words, sizeof(Acc));
  return moved;
}

// Combines the warp's values; the result is in lane 0.
template <class Reducer>
__device__ __forceinline__ typename Reducer::Acc reduce_warp(const Reducer& reducer,
                                                             typename Reducer::Acc acc) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    acc = reducer.combine(acc, shuffle_down(acc, distance));
  }
  return acc;
}

// Combines the block's values; the result is in thread 0.
template <class Reducer>
__device__ __forceinline__ typename Reducer::Acc reduce_block(const Reducer& reducer,
                                                              typename Reducer::Acc acc) {
  using Acc = typename Reducer::Acc;
  __shared__ __align__(16) unsigned char memory[sizeof(Acc) * 32];
  auto* warps = reinterpret_cast<Acc*>(memory);
  acc = reduce_warp(reducer, acc);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = acc;
  __syncthreads();
  if (threadIdx.x < 32) {
    acc = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : reducer.identity();
    acc = reduce_warp(reducer, acc);
  }
  return acc;
}

// Whether this block is the last of `n_blocks` that call this with the same counter; all its
// threads must call it. The writes of the other blocks are then visible, and the counter is 0
// again.
__device__ __forceinline__ bool is_last_block(std::uint32_t* counter, std::uint32_t n_blocks) {
  __shared__ bool last;
  __syncthreads();  // the block has finished writing
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicInc(counter, n_blocks - 1) == n_blocks - 1;  // wraps to 0
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Vectors of a row in flight per thread.
template <class Acc>
constexpr int vectors_in_flight() {
  return sizeof(Acc) > 8 ? 2 : 4;
}

// Reduces elements [begin, end) of a row that belong to this thread, kVec at a time, several
// vectors in flight.
template <int kVec, class Reducer, class T>
__device__ __forceinline__ typename Reducer::Acc reduce_strided(const Reducer& reducer,
                                                                const T* row, std::int64_t begin,
                                                                std::int64_t end, int thread,
                                                                int n_threads) {
  using Acc = typename Reducer::Acc;
  constexpr int kUnroll = vectors_in_flight<Acc>();
  Acc lanes[kVec];
#pragma unroll
  for (int i = 0; i < kVec; ++i) lanes[i] = reducer.identity();
  const std::int64_t step = std::int64_t{n_threads} * kVec;
  std::int64_t at = begin + std::int64_t{thread} * kVec;
  for (; at + (kUnroll - 1) * step + kVec <= end; at += kUnroll * step) {
    Vector<T, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      loaded[u] = load_vector<kVec>(row + at + u * step);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        lanes[i] = reducers::include(reducer, lanes[i], loaded[u].value[i], at + u * step + i);
      }
    }
  }
  for (; at < end; at += step) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      if (at + i < end) lanes[i] = reducers::include(reducer, lanes[i], row[at + i], at + i);
    }
  }
#pragma unroll
  for (int width = kVec / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) lanes[i] = reducer.combine(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

}  // namespace causeway::kernels::cuda
