// Attention of one new token to the positions before it, divided over the blocks of decode_model.
#pragma once

#include "causeway/kernels/decode/decode_exchange.cuh"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/decode/running_softmax.cuh"
#include "causeway/kernels/rotary/rotary_device.h"

#include <cstdint>

namespace causeway::kernels::cuda {

// The positions of a head are divided into splits, one per block, and in a block over groups of
// lanes that hold up to kDecodeRounds positions at a time. The result of a split is `size` weighted
// values, the largest score and the sum of weights; a single split divides by that sum itself.
template <class T>
class TokenAttention {
 public:
  static constexpr int kVec = vector_width<T>();

  // Keys and values of this thread's first positions, loaded before the query is known.
  struct Cached {
    Vector<T, kVec> keys[kDecodeRounds] = {};
    Vector<T, kVec> values[kDecodeRounds] = {};
  };

  // `memory` is shared memory of floats(model) floats.
  __device__ __forceinline__ TokenAttention(const DecodeModel& model, int position, float* memory)
      : model_(model),
        position_(position),
        weights_(memory),
        token_(weights_ + padded_splits(model)),
        lines_(token_ + 3 * model.size) {
    const int most = min(static_cast<int>(gridDim.x) / model.heads, kDecodeSplits);
    n_splits_ = min(most, position / (n_groups() * model.tuning.rounds) + 1);
    split_ = static_cast<int>(blockIdx.x) / model.heads;
    head_ = static_cast<int>(blockIdx.x) % model.heads;
    kv_head_ = head_ / (model.heads / model.kv_heads);
    column_ = static_cast<int>(threadIdx.x) % lanes() * kVec;
  }

  static int floats(const DecodeModel& model) {
    return padded_splits(model) + 3 * model.size + kWarps * (model.size + 2);
  }

  __device__ __forceinline__ Cached load_cached(const DecodeLayer& layer) const {
    Cached cached;
    if (split_ < n_splits_) load(layer, split_ * n_groups(), cached);
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
    const float scale = rsqrtf(static_cast<float>(model_.size));
    RunningSoftmax<kVec> softmax;
    // All lanes of a warp make the same number of rounds, because they exchange values.
    for (int base = split_ * n_groups(); base <= position_;) {
      float scores[kDecodeRounds];
#pragma unroll
      for (int r = 0; r < kDecodeRounds; ++r) {
        scores[r] = -INFINITY;
        if (base + r * stride() > position_) continue;
        const int position = position_of(base, r);
        if (position == position_) store_token(layer, cached.keys[r], cached.values[r]);
        const float score = dot_lanes(query, unpack(cached.keys[r]));
        if (position <= position_) scores[r] = score * scale;
      }
      softmax.add(scores, [&](int r) { return unpack(cached.values[r]); });
      base += kDecodeRounds * stride();
      if (base <= position_) load(layer, base, cached);
    }
    for (int mask = lanes(); mask < 32; mask *= 2) softmax.combine(mask);
    combine_warps(softmax, splits);
  }

  // Calls sink(i, value) for the attention of all heads, from their splits.
  template <class Sink>
  __device__ __forceinline__ void mix(const Exchange& splits, const Sink& sink) {
    const int count = model_.heads * model_.size;
    const int first = 2 * static_cast<int>(threadIdx.x);
    ExchangedPair parts[kSplitsAtOnce];
    if (first < count) request_splits(splits, first, 0, parts);
    if (n_splits_ > 1) {
      weigh_splits(splits);
      __syncthreads();
    }
    for (int i = first; i < count; i += 2 * kBlock) {
      const float* weights = weights_ + i / model_.size * kDecodeSplits;
      float sums[2] = {};
      for (int begin = 0; begin < n_splits_; begin += kSplitsAtOnce) {
        if (i > first || begin > 0) request_splits(splits, i, begin, parts);
        const int n = min(n_splits_ - begin, kSplitsAtOnce);
        splits.settle(parts, n, [&](int k) { return split_at(i, begin + k); });
#pragma unroll
        for (int k = 0; k < kSplitsAtOnce; ++k) {
          if (k >= n) break;
          const float weight = n_splits_ > 1 ? weights[begin + k] : 1.0f;
          sums[0] += weight * parts[k].value(0);
          sums[1] += weight * parts[k].value(1);
        }
      }
      sink(i, sums[0]);
      sink(i + 1, sums[1]);
    }
  }

 private:
  static constexpr int kSplitsAtOnce = 4;  // that a thread reads

  // The splits of all heads, up to whole warps.
  __host__ __device__ __forceinline__ static int padded_splits(const DecodeModel& model) {
    return (model.heads * kDecodeSplits + 31) / 32 * 32;
  }

  __device__ __forceinline__ int lanes() const { return model_.size / kVec; }
  __device__ __forceinline__ int n_groups() const { return kBlock / lanes(); }

  __device__ __forceinline__ std::int64_t cache_offset(int position) const {
    return (std::int64_t{kv_head_} * model_.capacity + position) * model_.size + column_;
  }
  // Positions between the rounds of a thread.
  __device__ __forceinline__ int stride() const { return n_splits_ * n_groups(); }
  __device__ __forceinline__ int position_of(int base, int round) const {
    return base + round * stride() + static_cast<int>(threadIdx.x) / lanes();
  }
  // Loads the rounds from position `base` on, those before the token.
  __device__ __forceinline__ void load(const DecodeLayer& layer, int base, Cached& cached) const {
#pragma unroll
    for (int r = 0; r < kDecodeRounds; ++r) {
      const int position = position_of(base, r);
      if (position >= position_) continue;
      const std::int64_t at = cache_offset(position);
      cached.keys[r] = load_vector<kVec>(static_cast<const T*>(layer.keys) + at);
      cached.values[r] = load_vector<kVec>(static_cast<const T*>(layer.values) + at);
    }
  }
  // The product of two vectors, of which each lane of a group has a part.
  __device__ __forceinline__ float dot_lanes(const Values<float, kVec>& a,
                                             const Values<float, kVec>& b) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += a.value[i] * b.value[i];
    for (int mask = lanes() / 2; mask > 0; mask /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    }
    return sum;
  }

  // Copies the token's query, key and value of this head to shared memory.
  __device__ __forceinline__ void read_token(const Exchange& qkv) {
    const auto head_of = [&](int which) {
      return which == 0 ? head_ : model_.heads + (which - 1) * model_.kv_heads + kv_head_;
    };
    const int i = 2 * static_cast<int>(threadIdx.x) % model_.size;
    for (int which = 2 * static_cast<int>(threadIdx.x) / model_.size; which < 3;
         which += 2 * kBlock / model_.size) {
      const int from = head_of(which) * model_.size + i;
      const ExchangedPair pair = qkv.read(from);
      token_[which * model_.size + i] = pair.value(0);
      token_[which * model_.size + i + 1] = pair.value(1);
    }
    __syncthreads();
  }

  // This lane's elements of the query (0), key (1) or value (2), rotated for the position.
  __device__ __forceinline__ Values<float, kVec> token_part(int which, bool rotates) const {
    const float* from = token_ + which * model_.size;
    Values<float, kVec> part;
    const int half = model_.size / 2;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = column_ + i;
      part.value[i] = from[at];
      if (!rotates || model_.rotary == nullptr) continue;
      const int pair = at % half;
      const float* angle = model_.rotary + std::int64_t{position_} * model_.size + 2 * pair;
      const Pair<float> turned =
          rotate(Pair<float>{from[pair], from[pair + half]}, angle[0], angle[1]);
      part.value[i] = at < half ? turned.first : turned.second;
    }
    return part;
  }

  // The token's own key and value, rounded as in the cache. The first head of a group stores them.
  __device__ __forceinline__ void store_token(const DecodeLayer& layer, Vector<T, kVec>& key,
                                              Vector<T, kVec>& value) const {
    key = pack<T>(token_part(1, true));
    value = pack<T>(token_part(2, false));
    if (head_ % (model_.heads / model_.kv_heads) != 0) return;
    store_vector(static_cast<T*>(layer.keys) + cache_offset(position_), key);
    store_vector(static_cast<T*>(layer.values) + cache_offset(position_), value);
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
    const int to = (head_ * kDecodeSplits + split_) * length;
    for (int i = static_cast<int>(threadIdx.x); i < length; i += kBlock) {
      float top = -INFINITY;
      for (int w = 0; w < kWarps; ++w) top = fmaxf(top, lines_[w * length + model_.size]);
      float sum = 0;
      float total = 0;
      for (int w = 0; w < kWarps; ++w) {
        const float largest = lines_[w * length + model_.size];
        const float weight = largest > -INFINITY ? __expf(largest - top) : 0.0f;
        sum += lines_[w * length + i] * weight;
        total += lines_[w * length + model_.size + 1] * weight;
      }
      if (n_splits_ == 1) sum /= total;
#pragma unroll
      for (int copy = 0; copy < kDecodeCopies; ++copy) {
        splits.store(copy, to + i, i == model_.size ? top : sum);
      }
    }
  }

  __device__ __forceinline__ int split_at(int i, int split) const {
    return (i / model_.size * kDecodeSplits + split) * (model_.size + 2) + i % model_.size;
  }
  __device__ __forceinline__ void request_splits(const Exchange& splits, int i, int begin,
                                                 ExchangedPair (&parts)[kSplitsAtOnce]) const {
#pragma unroll
    for (int k = 0; k < kSplitsAtOnce; ++k) {
      if (begin + k < n_splits_) parts[k] = splits.request(split_at(i, begin + k));
    }
  }

  // The weights of the splits of each head; kDecodeSplits lanes compute those of one head.
  __device__ __forceinline__ void weigh_splits(const Exchange& splits) {
    for (int i = static_cast<int>(threadIdx.x); i < padded_splits(model_); i += kBlock) {
      float largest = -INFINITY;
      float total = 0;
      if (i < model_.heads * kDecodeSplits && i % kDecodeSplits < n_splits_) {
        const ExchangedPair pair = splits.read(i * (model_.size + 2) + model_.size);
        largest = pair.value(0);
        total = pair.value(1);
      }
      __syncwarp();
      float top = largest;
#pragma unroll
      for (int mask = kDecodeSplits / 2; mask > 0; mask /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
      }
      const float weight = largest > -INFINITY ? __expf(largest - top) : 0.0f;
      float sum = weight * total;
#pragma unroll
      for (int mask = kDecodeSplits / 2; mask > 0; mask /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, mask);
      }
      weights_[i] = weight / sum;
    }
  }

  const DecodeModel& model_;
  int position_;
  int n_splits_;
  int split_;
  int head_;
  int kv_head_;
  int column_;      // of this lane's elements in a head
  float* weights_;  // (heads, kDecodeSplits)
  float* token_;    // (3, size): query, key, value
  float* lines_;    // (kWarps, size + 2)
};

}  // namespace causeway::kernels::cuda
