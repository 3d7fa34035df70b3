// Softmax attention over positions that arrive a few at a time.
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

  // Several positions at once; a score of -infinity leaves a position out. `value_of(k)` is the
  // value of position k.
  template <int kCount, class ValueOf>
  __device__ __forceinline__ void add(const float (&scores)[kCount], const ValueOf& value_of) {
    float top = largest;
#pragma unroll
    for (int k = 0; k < kCount; ++k) top = fmaxf(top, scores[k]);
    if (top == -INFINITY) return;
    const float old = __expf(largest - top);
    total *= old;
#pragma unroll
    for (int i = 0; i < kVec; ++i) values[i] *= old;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float weight = __expf(scores[k] - top);
      total += weight;
      const Values<float, kVec> value = value_of(k);
#pragma unroll
      for (int i = 0; i < kVec; ++i) values[i] += weight * value.value[i];
    }
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
