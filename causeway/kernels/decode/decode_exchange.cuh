// Vectors that the blocks of a kernel exchange through global memory, without barriers. An element
// is stored together with the number of the step in one 64-bit word, and a reader waits for words
// of its own step. A word is written once per step, so a slow reader cannot miss it. The blocks
// must all be resident.
#pragma once

#include "causeway/kernels/decode/decode_product.cuh"

#include <cstdint>

namespace causeway::kernels::cuda {

// The vectors that the blocks of a layer exchange, in words from its beginning.
struct ExchangeLayout {
  int qkv = 0;
  int splits;
  int middle;  // the residual stream after the attention
  int inner;
  int last;  // the residual stream after the MLP
  int size;

  __host__ __device__ explicit ExchangeLayout(const DecodeModel& model) {
    splits = (model.heads + 2 * model.kv_heads) * model.size;
    middle = splits + model.heads * kDecodeSplits * (model.size + 2);
    inner = middle + model.width;
    last = inner + model.hidden;
    size = last + model.width;
  }
};

// Two neighbouring elements as they were read.
struct ExchangedPair {
  std::uint64_t words[2];

  __device__ __forceinline__ float value(int i) const {
    return __uint_as_float(static_cast<std::uint32_t>(words[i]));
  }
  __device__ __forceinline__ bool is_of(std::uint32_t step) const {
    return static_cast<std::uint32_t>(words[0] >> 32) == step &&
           static_cast<std::uint32_t>(words[1] >> 32) == step;
  }
};

class Exchange {
 public:
  __device__ __forceinline__ Exchange(std::uint64_t* words, std::uint32_t step)
      : words_(words), step_(step) {}

  __device__ __forceinline__ void store(int i, float value) const {
    const std::uint64_t word = std::uint64_t{step_} << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words_ + i), "l"(word) : "memory");
  }

  // Waits for the pairs k < n of elements index_of(k), which is even, and index_of(k) + 1. Pairs
  // that are missing are read again together, because each read takes the whole latency of the L2
  // cache.
  template <int kCount, class IndexOf>
  __device__ __forceinline__ void read(ExchangedPair (&pairs)[kCount], int n,
                                       const IndexOf& index_of) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) pairs[k] = {};  // of step 0, which is none
    bool complete = false;
    while (!complete) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (k < n && !pairs[k].is_of(step_)) pairs[k] = request(index_of(k));
      }
      complete = true;
#pragma unroll
      for (int k = 0; k < kCount; ++k) complete = complete && (k >= n || pairs[k].is_of(step_));
    }
  }

  // Calls sink(i, first, second) for the elements i and i + 1 below `count`, which is even, in the
  // thread that owns them: thread t owns 2t and 2t + 1, modulo twice the block. It reads kAtOnce
  // pairs at a time.
  template <int kAtOnce, class Sink>
  __device__ __forceinline__ void gather(int count, const Sink& sink) const {
    constexpr int kStride = 2 * kBlock;
#pragma unroll 1
    for (int base = 2 * static_cast<int>(threadIdx.x); base < count; base += kAtOnce * kStride) {
      const auto index_of = [&](int k) { return base + k * kStride; };
      const int n = min((count - base + kStride - 1) / kStride, kAtOnce);
      ExchangedPair pairs[kAtOnce];
      read(pairs, n, index_of);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (k >= n) break;
        sink(index_of(k), pairs[k].value(0), pairs[k].value(1));
      }
    }
  }

 private:
  __device__ __forceinline__ ExchangedPair request(int i) const {
    ExchangedPair pair;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pair.words[0]), "=l"(pair.words[1])
                 : "l"(words_ + i)
                 : "memory");
    return pair;
  }

  std::uint64_t* words_;
  std::uint32_t step_;
};

}  // namespace causeway::kernels::cuda
