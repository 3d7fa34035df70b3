// Softmax attention over positions that arrive one by one.
#pragma once

#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

// A softmax over the positions so far: the largest score, the sum of weights, and the weighted
// sum of values.
template <int kVec>
struct RunningSoftmax {
  float largest = -INFINITY;
  float total = 0;
  float values[kVec] = {};

  __device__ __forceinline__ void add(float score, const Values<float, kVec>& value) {
    const float top = fmaxf(largest, score);
    const float old = __expf(largest - top);
    const float weight = __expf(score - top);
    total = total * old + weight;
#pragma unroll
    for (int i = 0; i < kVec; ++i) values[i] = values[i] * old + weight * value.value[i];
    largest = top;
  }
  // Combines with the lane whose number differs by `mask`.
  __device__ __forceinline__ void combine(int mask) {
    const float other = __shfl_xor_sync(0xffffffffu, largest, mask);
    const float top = fmaxf(largest, other);
    const float scale = largest > -INFINITY ? __expf(largest - top) : 0.0f;
    total *= scale;
    total += __shfl_xor_sync(0xffffffffu, total, mask);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      values[i] *= scale;
      values[i] += __shfl_xor_sync(0xffffffffu, values[i], mask);
    }
    largest = top;
  }
};

}  // namespace causeway::kernels::cuda
