// Attention of one token per sequence to the key-value cache. Bytes: the cache of the sequence,
// once per head of a group: 604 MB per step of GPT-2 124M bf16 with 64 sequences at position 256,
// 126 us of an H200's memory. Bound by latency for few sequences, by memory for many.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/running_softmax.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rotary/rotary_device.h"
#include "causeway/kernels/rows.cuh"

#include <bit>

namespace causeway::kernels::cuda {

namespace {

constexpr int kBlock = 128;
constexpr int kWarps = kBlock / 32;
constexpr int kBlocksAtOnce = 6;  // per multiprocessor, each with 16 KB of loads in flight

struct AttentionShape {
  int heads;
  int kv_heads;
  int size;
  int capacity;
  int lanes;  // threads per position: a power of two
  float scale;
};

// Element i of a head of the new token, rotated for its position.
template <class X>
__device__ float rotated(const X* head, const float* rotary, int size, int position, int i) {
  if (rotary == nullptr) return static_cast<float>(head[i]);
  const int half = size / 2;
  const int pair = i % half;
  const float* angle = rotary + static_cast<std::int64_t>(position) * size + 2 * pair;
  const Pair<float> turned =
      rotate(Pair<float>{static_cast<float>(head[pair]), static_cast<float>(head[pair + half])},
             angle[0], angle[1]);
  return i < half ? turned.first : turned.second;
}

// Eight elements of a head as they are stored.
template <class T>
struct Eight {
  static constexpr int kVec = vector_width<T>();
  Vector<T, kVec> parts[8 / kVec] = {};

  __device__ __forceinline__ void load(const T* from) {
#pragma unroll
    for (int p = 0; p < 8 / kVec; ++p) parts[p] = load_vector<kVec>(from + p * kVec);
  }
  __device__ __forceinline__ void store(T* to) const {
#pragma unroll
    for (int p = 0; p < 8 / kVec; ++p) store_vector(to + p * kVec, parts[p]);
  }
  __device__ __forceinline__ Values<float, 8> values() const {
    Values<float, 8> all;
#pragma unroll
    for (int p = 0; p < 8 / kVec; ++p) {
      const auto some = unpack(parts[p]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) all.value[p * kVec + i] = static_cast<float>(some.value[i]);
    }
    return all;
  }
};

// Eight elements of the token's key and value, rounded as in the cache.
template <class T, class X>
__device__ __forceinline__ void own_token(const AttentionShape& shape, const X* token,
                                          const float* rotary, int kv, int position, int column,
                                          Eight<T>& key, Eight<T>& value) {
  constexpr int kVec = Eight<T>::kVec;
  const X* of_key = token + (shape.heads + kv) * shape.size;
  const X* of_value = token + (shape.heads + shape.kv_heads + kv) * shape.size + column;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    key.parts[i / kVec].value[i % kVec] =
        static_cast<T>(rotated(of_key, rotary, shape.size, position, column + i));
    value.parts[i / kVec].value[i % kVec] = static_cast<T>(static_cast<float>(of_value[i]));
  }
}

// The product of the query and a key, of which each lane of a group has eight elements.
template <class T>
__device__ __forceinline__ float score_of(const Values<float, 8>& query, const Eight<T>& key,
                                          int lanes) {
  const Values<float, 8> row = key.values();
  float score = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) score += query.value[i] * row.value[i];
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    score += __shfl_xor_sync(0xffffffffu, score, mask);
  }
  return score;
}

// Adds the positions before `position`, a few of each group at a time. `keys` and `values` are this
// lane's elements of position 0; a lane reads positions before `readable`.
template <class T>
__device__ __forceinline__ void attend_cache(const AttentionShape& shape,
                                             const Values<float, 8>& query, const T* keys,
                                             const T* values, int readable, int position,
                                             RunningSoftmax<8>& softmax) {
  constexpr int kAtOnce = static_cast<int>(8 / sizeof(T));
  const int n_groups = kBlock / shape.lanes;
  const int group = static_cast<int>(threadIdx.x) / shape.lanes;
  for (int base = 0; base < position; base += kAtOnce * n_groups) {
    Eight<T> key[kAtOnce];
    Eight<T> value[kAtOnce];
    float scores[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int t = base + k * n_groups + group;
      if (t >= readable) continue;
      key[k].load(keys + static_cast<std::int64_t>(t) * shape.size);
      value[k].load(values + static_cast<std::int64_t>(t) * shape.size);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const float score = score_of(query, key[k], shape.lanes);
      scores[k] = base + k * n_groups + group < position ? score : -INFINITY;
    }
    softmax.add(scores, [&](int k) { return value[k].values(); });
  }
}

// The attention of a block's head, in shared memory: one line of `size` weighted values, the
// largest score and the sum of weights per warp.
template <class X>
__device__ void combine_lines(const float* lines, int size, X* out) {
  const int length = size + 2;
  for (int i = static_cast<int>(threadIdx.x); i < size; i += kBlock) {
    float top = -INFINITY;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, lines[w * length + size]);
    float sum = 0;
    float total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float largest = lines[w * length + size];
      const float weight = largest > -INFINITY ? __expf(largest - top) : 0.0f;
      sum += weight * lines[w * length + i];
      total += weight * lines[w * length + size + 1];
    }
    out[i] = static_cast<X>(sum / total);
  }
}

// A block computes one head of one sequence. A group of lanes has a position, and each lane eight
// of its elements; lanes beyond the head have zeros. Keys and values are read once. The first head
// of those that share a cache writes the token's k and v.
template <class T, class X>
__global__ void __launch_bounds__(kBlock, kBlocksAtOnce)
    attention_kernel(AttentionShape shape, const X* heads, const float* rotary, T* keys, T* values,
                     const std::int64_t* lengths, X* out) {
  extern __shared__ float lines[];
  const int size = shape.size;
  const int head = static_cast<int>(blockIdx.x);
  const int b = static_cast<int>(blockIdx.y);
  const int group_heads = shape.heads / shape.kv_heads;
  const int kv = head / group_heads;
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int group = static_cast<int>(threadIdx.x) / shape.lanes;
  const int column = lane * 8;
  const bool has_column = column < size;
  start_next();
  wait_for_previous();
  const int position = static_cast<int>(lengths[b]);
  const X* token = heads + static_cast<std::int64_t>(b) * (shape.heads + 2 * shape.kv_heads) * size;
  const std::int64_t cache =
      (static_cast<std::int64_t>(b) * shape.kv_heads + kv) * shape.capacity * size + column;
  Values<float, 8> query = {};
  if (has_column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      query.value[i] =
          shape.scale * rotated(token + head * size, rotary, size, position, column + i);
    }
  }
  RunningSoftmax<8> softmax;
  attend_cache(shape, query, keys + cache, values + cache, has_column ? position : 0, position,
               softmax);
  {  // The token itself, in the first group.
    Eight<T> key;
    Eight<T> value;
    if (has_column) own_token(shape, token, rotary, kv, position, column, key, value);
    const float score = score_of(query, key, shape.lanes);
    const float scores[1] = {group == 0 ? score : -INFINITY};
    softmax.add(scores, [&](int) { return value.values(); });
    if (group == 0 && has_column && head % group_heads == 0) {
      const std::int64_t to = cache + static_cast<std::int64_t>(position) * size;
      key.store(keys + to);
      value.store(values + to);
    }
  }
  for (int mask = shape.lanes; mask < 32; mask *= 2) softmax.combine(mask);
  float* line = lines + threadIdx.x / 32 * (size + 2);
  if (threadIdx.x % 32 < static_cast<unsigned>(shape.lanes) && has_column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) line[column + i] = softmax.values[i];
    if (lane == 0) {
      line[size] = softmax.largest;
      line[size + 1] = softmax.total;
    }
  }
  __syncthreads();
  combine_lines(lines, size, out + (static_cast<std::int64_t>(b) * shape.heads + head) * size);
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads)
    embed_kernel(int width, std::int64_t capacity, const std::int64_t* tokens,
                 const std::int64_t* lengths, const T* embedding, const T* positions, X* x) {
  const int b = static_cast<int>(blockIdx.y);
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  start_next();
  wait_for_previous();
  if (i >= width) return;
  const std::int64_t position = lengths[b];
  const std::int64_t token = tokens[b * capacity + position];
  float value = static_cast<float>(embedding[token * width + i]);
  if (positions != nullptr) value += static_cast<float>(positions[position * width + i]);
  x[static_cast<std::int64_t>(b) * width + i] = static_cast<X>(value);
}

}  // namespace

void decode_attention(StreamView stream, const DecodeAttention& how, const Operand& heads,
                      const Operand& rotary, const Operand& keys, const Operand& values,
                      const Operand& lengths, const Operand& out) {
  AttentionShape shape{};
  shape.heads = how.heads;
  shape.kv_heads = how.kv_heads;
  shape.size = static_cast<int>(keys.shape[3]);
  shape.capacity = static_cast<int>(keys.shape[2]);
  shape.lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(shape.size / 8)));
  shape.scale = 1.0f / std::sqrt(static_cast<float>(shape.size));
  const dim3 grid(static_cast<unsigned>(how.heads), static_cast<unsigned>(heads.shape[0]));
  dispatch_floating(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int floats = kWarps * (shape.size + 2);
    const auto run = [&](auto activation) {
      using X = typename decltype(activation)::type;
      launch(Launch("decode_attention", stream, grid, dim3(kBlock),
                    sizeof(float) * static_cast<std::size_t>(floats))
                 .overlapping(),
             attention_kernel<T, X>, shape, static_cast<const X*>(heads.data),
             static_cast<const float*>(rotary.data), static_cast<T*>(keys.data),
             static_cast<T*>(values.data), static_cast<const std::int64_t*>(lengths.data),
             static_cast<X*>(out.data));
    };
    if (heads.dtype == keys.dtype) {
      run(Tag<T>());
    } else {
      run(Tag<float>());
    }
  });
}

void decode_embed(StreamView stream, const Operand& tokens, const Operand& lengths,
                  const Operand& embedding, const Operand& positions, const Operand& x) {
  const auto width = static_cast<int>(x.shape[1]);
  const dim3 grid(static_cast<unsigned>((width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(x.shape[0]));
  dispatch_floating(embedding.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto run = [&](auto activation) {
      using X = typename decltype(activation)::type;
      launch(Launch("decode_embed", stream, grid, dim3(kThreads)).overlapping(), embed_kernel<T, X>,
             width, tokens.shape[1], static_cast<const std::int64_t*>(tokens.data),
             static_cast<const std::int64_t*>(lengths.data), static_cast<const T*>(embedding.data),
             static_cast<const T*>(positions.data), static_cast<X*>(x.data));
    };
    if (x.dtype == embedding.dtype) {
      run(Tag<T>());
    } else {
      run(Tag<float>());
    }
  });
}

}  // namespace causeway::kernels::cuda
