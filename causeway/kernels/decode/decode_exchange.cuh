// Vectors that the blocks of a kernel exchange through global memory, without barriers. An element
// is stored together with the number of the step in one 64-bit word, and a reader waits for words
// of its own step. A word is written once per step, so a slow reader cannot miss it. The blocks
// must all be resident. A vector can have several copies, so that fewer blocks read the same line
// of the L2 cache, whose next store waits for their reads.
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
  int copy;  // words of one copy of all layers: whole lines of 128 bytes

  __host__ __device__ explicit ExchangeLayout(const DecodeModel& model) {
    splits = (model.heads + 2 * model.kv_heads) * model.size;
    middle = splits + model.heads * kDecodeSplits * (model.size + 2);
    inner = middle + model.width;
    last = inner + model.hidden;
    size = last + model.width;
    copy = (model.n_layers * size + 15) / 16 * 16;
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
  // `words` is the vector in the first copy, of `copy_size` words.
  __device__ __forceinline__ Exchange(std::uint64_t* words, int copy_size, std::uint32_t step,
                                      const DecodeTuning& tuning)
      : words_(words),
        own_(words + (static_cast<int>(blockIdx.x) & (tuning.copies - 1)) * copy_size),
        copy_size_(copy_size),
        copies_(tuning.copies),
        step_(step),
        pause_(tuning.pause) {}

  // Stores element i in a copy. Has no effect for copies that are not used.
  __device__ __forceinline__ void store(int copy, int i, float value) const {
    if (copy >= copies_) return;
    const std::uint64_t word = std::uint64_t{step_} << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words_ + copy * copy_size_ + i),
                 "l"(word)
                 : "memory");
  }

  // Starts to read the elements i and i + 1; i is even. They may not be there yet.
  __device__ __forceinline__ ExchangedPair request(int i) const {
    ExchangedPair pair;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pair.words[0]), "=l"(pair.words[1])
                 : "l"(own_ + i)
                 : "memory");
    return pair;
  }
  // Reads again until the first n pairs are there: all that are missing together, because each
  // read takes the whole latency of the L2 cache. Pair k has the elements from index_of(k) on.
  template <int kCount, class IndexOf>
  __device__ __forceinline__ void settle(ExchangedPair (&pairs)[kCount], int n,
                                         const IndexOf& index_of) const {
    while (true) {
      bool complete = true;
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (k < n) complete = complete && pairs[k].is_of(step_);
      }
      if (complete) return;
      if (pause_ > 0) __nanosleep(pause_);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        if (k < n && !pairs[k].is_of(step_)) pairs[k] = request(index_of(k));
      }
    }
  }
  // Waits for the elements i and i + 1; i is even.
  __device__ __forceinline__ ExchangedPair read(int i) const {
    ExchangedPair pairs[1] = {request(i)};
    settle(pairs, 1, [&](int) { return i; });
    return pairs[0];
  }

  // Calls sink(i, value) for the elements below `count`, which is even, in the thread that owns i:
  // thread t owns 2t and 2t + 1, modulo twice the block.
  template <class Sink>
  __device__ __forceinline__ void gather(int count, const Sink& sink) const {
    constexpr int kAtOnce = 4;
    constexpr int kStride = 2 * kBlock;
    for (int base = 2 * static_cast<int>(threadIdx.x); base < count; base += kAtOnce * kStride) {
      const auto index_of = [&](int k) { return base + k * kStride; };
      const int n = min((count - base + kStride - 1) / kStride, kAtOnce);
      ExchangedPair pairs[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (k < n) pairs[k] = request(index_of(k));
      }
      settle(pairs, n, index_of);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (k >= n) break;
        sink(index_of(k), pairs[k].value(0));
        sink(index_of(k) + 1, pairs[k].value(1));
      }
    }
  }

 private:
  std::uint64_t* words_;
  const std::uint64_t* own_;  // in the copy that this block reads
  int copy_size_;
  int copies_;
  std::uint32_t step_;
  unsigned pause_;  // before a thread reads again, in ns
};

}  // namespace causeway::kernels::cuda
