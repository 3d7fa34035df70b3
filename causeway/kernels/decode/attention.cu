// Attention of one token per sequence to the key-value cache. Bytes: the cache of the sequence,
// once per head of a group. Bound by latency for one sequence, by memory for many.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rotary/rotary_device.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;

struct AttentionShape {
  int heads;
  int kv_heads;
  int size;
  int capacity;
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

__device__ float reduce_block(float value, float* scratch, bool takes_max) {
  const auto combine = [&](float a, float b) { return takes_max ? fmaxf(a, b) : a + b; };
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) value = combine(value, scratch[i]);
  return value;
}

// A block computes one head of one sequence: scores with a thread per position, then values with
// `size / kVec` threads per position. Every head of a group writes the same k and v.
template <class T, class X>
__global__ void __launch_bounds__(kBlock)
    attention_kernel(AttentionShape shape, const X* heads, const float* rotary, T* keys, T* values,
                     const std::int64_t* lengths, X* out) {
  constexpr int kVec = vector_width<T>();
  extern __shared__ float shared[];
  __shared__ float scratch[kWarps];
  const int size = shape.size;
  float* q = shared;        // size
  float* parts = q + size;  // kBlock * kVec: sums of values
  float* scores = parts + kBlock * kVec;
  const int head = static_cast<int>(blockIdx.x);
  const int b = static_cast<int>(blockIdx.y);
  const int kv = head / (shape.heads / shape.kv_heads);
  const int thread = static_cast<int>(threadIdx.x);
  start_next();
  wait_for_previous();
  const int position = static_cast<int>(lengths[b]);
  const X* token = heads + static_cast<std::int64_t>(b) * (shape.heads + 2 * shape.kv_heads) * size;
  const std::int64_t cache = (static_cast<std::int64_t>(b) * shape.kv_heads + kv) * shape.capacity;
  T* key_rows = keys + cache * size;
  T* value_rows = values + cache * size;
  for (int i = thread; i < size; i += kBlock) {
    q[i] = rotated(token + head * size, rotary, size, position, i);
    key_rows[static_cast<std::int64_t>(position) * size + i] =
        static_cast<T>(rotated(token + (shape.heads + kv) * size, rotary, size, position, i));
    value_rows[static_cast<std::int64_t>(position) * size + i] =
        static_cast<T>(static_cast<float>(token[(shape.heads + shape.kv_heads + kv) * size + i]));
  }
  __syncthreads();
  float largest = -INFINITY;
  for (int t = thread; t <= position; t += kBlock) {
    const T* key = key_rows + static_cast<std::int64_t>(t) * size;
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < size; i += kVec) {
      const auto vector = load_vector<kVec>(key + i);
#pragma unroll
      for (int j = 0; j < kVec; ++j) sum += q[i + j] * static_cast<float>(vector.value[j]);
    }
    scores[t] = sum * shape.scale;
    largest = fmaxf(largest, sum * shape.scale);
  }
  largest = reduce_block(largest, scratch, true);
  float total = 0;
  for (int t = thread; t <= position; t += kBlock) {
    const float weight = __expf(scores[t] - largest);
    scores[t] = weight;
    total += weight;
  }
  total = reduce_block(total, scratch, false);
  const int lanes = size / kVec;  // threads per position
  const int groups = kBlock / lanes;
  const int group = thread / lanes;
  const int column = thread % lanes * kVec;
  float sums[kVec] = {};
  if (group < groups) {
#pragma unroll 4
    for (int t = group; t <= position; t += groups) {
      const auto vector =
          load_vector<kVec>(value_rows + static_cast<std::int64_t>(t) * size + column);
#pragma unroll
      for (int j = 0; j < kVec; ++j) sums[j] += scores[t] * static_cast<float>(vector.value[j]);
    }
#pragma unroll
    for (int j = 0; j < kVec; ++j) parts[group * size + column + j] = sums[j];
  }
  __syncthreads();
  for (int i = thread; i < size; i += kBlock) {
    float sum = 0;
    for (int g = 0; g < groups; ++g) sum += parts[g * size + i];
    out[(static_cast<std::int64_t>(b) * shape.heads + head) * size + i] =
        static_cast<X>(sum / total);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    embed_kernel(int width, std::int64_t capacity, const std::int64_t* tokens,
                 const std::int64_t* lengths, const T* embedding, const T* positions, float* x) {
  const int b = static_cast<int>(blockIdx.y);
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  start_next();
  wait_for_previous();
  if (i >= width) return;
  const std::int64_t position = lengths[b];
  const std::int64_t token = tokens[b * capacity + position];
  float value = static_cast<float>(embedding[token * width + i]);
  if (positions != nullptr) value += static_cast<float>(positions[position * width + i]);
  x[static_cast<std::int64_t>(b) * width + i] = value;
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
  shape.scale = 1.0f / std::sqrt(static_cast<float>(shape.size));
  const dim3 grid(static_cast<unsigned>(how.heads), static_cast<unsigned>(heads.shape[0]));
  dispatch_floating(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int floats = shape.size + kBlock * vector_width<T>() + shape.capacity;
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
    launch(Launch("decode_embed", stream, grid, dim3(kThreads)).overlapping(), embed_kernel<T>,
           width, tokens.shape[1], static_cast<const std::int64_t*>(tokens.data),
           static_cast<const std::int64_t*>(lengths.data), static_cast<const T*>(embedding.data),
           static_cast<const T*>(positions.data), static_cast<float*>(x.data));
  });
}

}  // namespace causeway::kernels::cuda
