// Attention of one new token to the positions before it, divided over the blocks of decode_model.
#pragma once

#include "causeway/kernels/decode/decode_exchange.cuh"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/decode/running_softmax.cuh"
#include "causeway/kernels/rotary/rotary_device.h"

#include <bit>
#include <cstdint>

namespace causeway::kernels::cuda {

// The positions of a head are divided into splits, one per block, and in a block over groups of
// lanes that hold up to kDecodeRounds positions at a time. The result of a split is `size` weighted
// values, the largest score and the sum of weights. The first split also has the new token.
template <class T>
class TokenAttention {
 public:
  static constexpr int kVec = static_cast<int>(16 / sizeof(T));

  // Keys and values of this thread's first positions, loaded before the query is known: whole
  // registers, so that nothing waits for them until they are used.
  struct Cached {
    uint4 keys[kDecodeRounds];
    uint4 values[kDecodeRounds];
  };

  // `memory` is shared memory of floats(model) floats.
  __device__ __forceinline__ TokenAttention(const DecodeModel& model, int position, float* memory)
      : model_(model),
        position_(position),
        size_bits_(static_cast<int>(std::bit_width(static_cast<unsigned>(model.size))) - 1),
        token_(memory),
        lines_(token_ + 3 * model.size) {
    const int lanes = model.size / kVec;
    n_groups_ = kBlock / lanes;
    group_ = static_cast<int>(threadIdx.x) / lanes;
    column_ = static_cast<int>(threadIdx.x) % lanes * kVec;
    const int most = min(static_cast<int>(gridDim.x) / model.heads, kDecodeSplits);
    n_splits_ = min(most, position / (n_groups_ * kDecodeRounds) + 1);
    split_ = static_cast<int>(blockIdx.x) / model.heads;
    head_ = static_cast<int>(blockIdx.x) % model.heads;
    kv_head_ = head_ / (model.heads / model.kv_heads);
  }

  static int floats(const DecodeModel& model) { return 3 * model.size + kWarps * (model.size + 2); }

  __device__ __forceinline__ Cached load_cached(const DecodeLayer& layer) const {
    Cached cached;
#pragma unroll
    for (int r = 0; r < kDecodeRounds; ++r) {
      cached.keys[r] = make_uint4(0, 0, 0, 0);
      cached.values[r] = make_uint4(0, 0, 0, 0);
    }
    if (split_ < n_splits_) load(layer, split_ * n_groups_, cached);
    return cached;
  }

  // Computes this block's split of a head, and writes the token's key and value to the cache.
  // Calls `on_token` when the query is known.
  template <class OnToken>
  __device__ __forceinline__ void attend(const DecodeLayer& layer, const Exchange& qkv,
                                         Cached cached, const Exchange& splits,
                                         const OnToken& on_token) {
    if (split_ >= n_splits_) return on_token();
    read_token(qkv);
    on_token();
    const Values<float, kVec> query = token_part(0, true);
    RunningSoftmax<kVec> softmax;
    if (split_ == 0 && threadIdx.x < 32) add_token(layer, query, softmax);
      // All lanes of a warp make the same number of rounds, because they exchange values.
#pragma unroll 1
    for (int base = split_ * n_groups_; base < position_;) {
      float scores[kDecodeRounds];
      score(query, cached.keys, scores);
#pragma unroll
      for (int r = 0; r < kDecodeRounds; ++r) {
        if (position_of(base, r) >= position_) scores[r] = -INFINITY;
      }
      softmax.add(scores, [&](int r) { return unpacked(cached.values[r]); });
      base += kDecodeRounds * stride();
      if (base < position_) load(layer, base, cached);
    }
#pragma unroll 1
    for (int mask = lanes(); mask < 32; mask *= 2) softmax.combine(mask);
    combine_warps(softmax, splits);
  }

  // Calls sink(i, first, second) for the attention of all heads, from their splits: elements i and
  // i + 1.
  template <class Sink>
  __device__ __forceinline__ void mix(const Exchange& splits, const Sink& sink) const {
    constexpr int kAtOnce = 4;
    const int length = model_.size + 2;
#pragma unroll 1
    for (int i = 2 * static_cast<int>(threadIdx.x); i < model_.heads << size_bits_;
         i += 2 * kBlock) {
      const int first = (i >> size_bits_) * kDecodeSplits * length;
      const int column = i & (model_.size - 1);
      float top = -INFINITY;
      float total = 0;
      float sums[2] = {};
#pragma unroll 1
      for (int begin = 0; begin < n_splits_; begin += kAtOnce) {
        const int n = min(n_splits_ - begin, kAtOnce);
        const int at = first + begin * length;
        // The threads of a head wait for the same words, and read their own when those are there.
        ExchangedPair weights[kAtOnce];
        splits.read(weights, n, [&](int k) { return at + k * length + model_.size; });
        ExchangedPair parts[kAtOnce];
        splits.read(parts, n, [&](int k) { return at + k * length + column; });
        float highest = top;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          if (k < n) highest = fmaxf(highest, weights[k].value(0));
        }
        const float old = top > -INFINITY ? __expf(top - highest) : 0.0f;
        total *= old;
        sums[0] *= old;
        sums[1] *= old;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          if (k >= n) break;
          const float largest = weights[k].value(0);  // -infinity for a split without positions
          const float weight = largest > -INFINITY ? __expf(largest - highest) : 0.0f;
          total += weight * weights[k].value(1);
          sums[0] += weight * parts[k].value(0);
          sums[1] += weight * parts[k].value(1);
        }
        top = highest;
      }
      sink(i, sums[0] / total, sums[1] / total);
    }
  }

 private:
  __device__ __forceinline__ int lanes() const { return model_.size / kVec; }

  __device__ __forceinline__ std::int64_t cache_offset(int position) const {
    return (std::int64_t{kv_head_} * model_.capacity + position) * model_.size + column_;
  }
  // Positions between the rounds of a thread.
  __device__ __forceinline__ int stride() const { return n_splits_ * n_groups_; }
  __device__ __forceinline__ int position_of(int base, int round) const {
    return base + round * stride() + group_;
  }
  // Loads the rounds from position `base` on, those before the token.
  __device__ __forceinline__ void load(const DecodeLayer& layer, int base, Cached& cached) const {
#pragma unroll
    for (int r = 0; r < kDecodeRounds; ++r) {
      const int position = position_of(base, r);
      if (position >= position_) break;
      const std::int64_t at = cache_offset(position);
      cached.keys[r] = *reinterpret_cast<const uint4*>(static_cast<const T*>(layer.keys) + at);
      cached.values[r] = *reinterpret_cast<const uint4*>(static_cast<const T*>(layer.values) + at);
    }
  }
  __device__ __forceinline__ static Values<float, kVec> unpacked(const uint4& bytes) {
    Values<float, kVec> values;
    to_floats<T>(bytes, values.value);
    return values;
  }
  __device__ __forceinline__ static uint4 packed(const Values<float, kVec>& values) {
    const Vector<T, kVec> vector = pack<T>(values);
    static_assert(sizeof(vector) == sizeof(uint4));
    uint4 bytes;
    memcpy(&bytes, &vector, sizeof(bytes));
    return bytes;
  }
  // The scaled products with keys, of which each lane of a group has a part. All lanes of a warp
  // must call this.
  template <int kCount>
  __device__ __forceinline__ void score(const Values<float, kVec>& query,
                                        const uint4 (&keys)[kCount],
                                        float (&scores)[kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Values<float, kVec> key = unpacked(keys[k]);
      scores[k] = 0;
#pragma unroll
      for (int i = 0; i < kVec; ++i) scores[k] += query.value[i] * key.value[i];
      scores[k] *= rsqrtf(static_cast<float>(model_.size));
    }
#pragma unroll 1
    for (int mask = lanes() / 2; mask > 0; mask /= 2) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) scores[k] += __shfl_xor_sync(0xffffffffu, scores[k], mask);
    }
  }

  // Copies the token's query, key and value of this head to shared memory.
  __device__ __forceinline__ void read_token(const Exchange& qkv) {
#pragma unroll 1
    for (int i = 2 * static_cast<int>(threadIdx.x); i < 3 << size_bits_; i += 2 * kBlock) {
      const int which = i >> size_bits_;
      const int head = which == 0 ? head_ : model_.heads + (which - 1) * model_.kv_heads + kv_head_;
      const int from = (head << size_bits_) + (i & (model_.size - 1));
      ExchangedPair pair[1];
      qkv.read(pair, 1, [&](int) { return from; });
      token_[i] = pair[0].value(0);
      token_[i + 1] = pair[0].value(1);
    }
    __syncthreads();
  }

  // This lane's elements of the query (0), key (1) or value (2), rotated for the position.
  __device__ __forceinline__ Values<float, kVec> token_part(int which, bool rotates) const {
    const float* from = token_ + which * model_.size;
    Values<float, kVec> part;
#pragma unroll
    for (int i = 0; i < kVec; ++i) part.value[i] = from[column_ + i];
    if (!rotates || model_.rotary == nullptr) return part;
    const int half = model_.size / 2;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int pair = (column_ + i) & (half - 1);
      const float* angle = model_.rotary + std::int64_t{position_} * model_.size + 2 * pair;
      const Pair<float> turned =
          rotate(Pair<float>{from[pair], from[pair + half]}, angle[0], angle[1]);
      part.value[i] = column_ + i < half ? turned.first : turned.second;
    }
    return part;
  }

  // Adds the token itself in the first group. Its key and value are rounded as in the cache, where
  // the first head that uses them stores them. All lanes of a warp must call this.
  __device__ __forceinline__ void add_token(const DecodeLayer& layer,
                                            const Values<float, kVec>& query,
                                            RunningSoftmax<kVec>& softmax) const {
    const uint4 key[1] = {packed(token_part(1, true))};
    const uint4 value = packed(token_part(2, false));
    float scores[1];
    score(query, key, scores);
    if (group_ != 0) return;
    softmax.add(scores, [&](int) { return unpacked(value); });
    if (kv_head_ * (model_.heads / model_.kv_heads) != head_) return;
    const std::int64_t at = cache_offset(position_);
    *reinterpret_cast<uint4*>(static_cast<T*>(layer.keys) + at) = key[0];
    *reinterpret_cast<uint4*>(static_cast<T*>(layer.values) + at) = value;
  }

  __device__ __forceinline__ void combine_warps(const RunningSoftmax<kVec>& softmax,
                                                const Exchange& splits) {
    const Place at;
    const int length = model_.size + 2;  // of a line in lines_, one per warp
    if (at.lane < lanes()) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) lines_[at.warp * length + column_ + i] = softmax.values[i];
      if (at.lane == 0) {
        lines_[at.warp * length + model_.size] = softmax.largest;
        lines_[at.warp * length + model_.size + 1] = softmax.total;
      }
    }
    __syncthreads();
    // Lane w has the weight of warp w.
    const float* own = lines_ + at.lane % kWarps * length + model_.size;
    float top = own[0];
#pragma unroll
    for (int mask = kWarps / 2; mask > 0; mask /= 2) {
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
    }
    const float weight = own[0] > -INFINITY ? __expf(own[0] - top) : 0.0f;
    float total = weight * own[1];
#pragma unroll
    for (int mask = kWarps / 2; mask > 0; mask /= 2) {
      total += __shfl_xor_sync(0xffffffffu, total, mask);
    }
    const int to = (head_ * kDecodeSplits + split_) * length;
#pragma unroll 1
    for (int begin = 32 * at.warp; begin < model_.size; begin += kBlock) {
      const int i = begin + at.lane;
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float part = __shfl_sync(0xffffffffu, weight, w);
        if (i < model_.size) sum += part * lines_[w * length + i];
      }
      if (i < model_.size) splits.store(to + i, sum);
    }
    if (threadIdx.x >= 2) return;
    splits.store(to + model_.size + static_cast<int>(threadIdx.x), threadIdx.x == 0 ? top : total);
  }

  const DecodeModel& model_;
  int position_;
  int size_bits_;  // of the size of a head, a power of two
  int n_groups_;   // of lanes that hold a position
  int group_;      // of this thread
  int column_;     // of this lane's elements in a head
  int n_splits_;
  int split_;
  int head_;
  int kv_head_;
  float* token_;  // (3, size): query, key, value
  float* lines_;  // (kWarps, size + 2)
};

}  // namespace causeway::kernels::cuda
