// Attention of one token per sequence to the key-value cache, on the CPU. Bytes: the cache of the
// sequence once. Bound by memory.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/rotary/rotary_device.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

struct Shapes {
  std::int64_t size, capacity, n_heads, n_kv;
};

// A head of the new token, rotated for its position.
template <class X>
std::vector<float> head_at(const X* from, const Shapes& s, const Operand& rotary,
                           std::int64_t position, bool rotates) {
  std::vector<float> head(static_cast<std::size_t>(s.size));
  std::transform(from, from + s.size, head.begin(), [](X x) { return static_cast<float>(x); });
  if (rotary.data == nullptr || !rotates) return head;
  const std::int64_t half = s.size / 2;
  const float* angles = static_cast<const float*>(rotary.data) + position * s.size;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto turned = rotate(
        Pair<float>{head[static_cast<std::size_t>(i)], head[static_cast<std::size_t>(i + half)]},
        angles[2 * i], angles[2 * i + 1]);
    head[static_cast<std::size_t>(i)] = turned.first;
    head[static_cast<std::size_t>(i + half)] = turned.second;
  }
  return head;
}

template <class T>
void store_head(const std::vector<float>& head, T* to) {
  for (std::size_t i = 0; i < head.size(); ++i) to[i] = static_cast<T>(head[i]);
}

// softmax(q keys' / sqrt(size)) values over `count` positions.
template <class T, class X>
void attend(const std::vector<float>& q, const T* keys, const T* values, std::int64_t count,
            X* out) {
  const auto size = static_cast<std::int64_t>(q.size());
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  std::vector<float> scores(static_cast<std::size_t>(count));
  float largest = -INFINITY;
  for (std::int64_t t = 0; t < count; ++t) {
    float sum = 0;
    const T* key = keys + t * size;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < size; ++i) {
      sum += q[static_cast<std::size_t>(i)] * static_cast<float>(key[i]);
    }
    scores[static_cast<std::size_t>(t)] = sum * scale;
    largest = std::max(largest, sum * scale);
  }
  float total = 0;
  std::vector<float> sums(q.size());
  for (std::int64_t t = 0; t < count; ++t) {
    const float weight = math::exp(scores[static_cast<std::size_t>(t)] - largest);
    total += weight;
    const T* value = values + t * size;
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) {
      sums[static_cast<std::size_t>(i)] += weight * static_cast<float>(value[i]);
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<X>(sums[i] / total);
}

template <class T, class X>
void attend_all(const DecodeAttention& how, const Operand& heads, const Operand& rotary,
                const Operand& keys, const Operand& values, const Operand& lengths,
                const Operand& out) {
  const Shapes s{keys.shape[3], keys.shape[2], how.heads, how.kv_heads};
  const std::int64_t group = s.n_heads / s.n_kv;
  const std::int64_t row = (s.n_heads + 2 * s.n_kv) * s.size;
  parallel_for(heads.shape[0] * s.n_kv, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / s.n_kv;
      const std::int64_t kv = i % s.n_kv;
      const std::int64_t position = static_cast<const std::int64_t*>(lengths.data)[b];
      const X* token = static_cast<const X*>(heads.data) + b * row;
      T* key = static_cast<T*>(keys.data) + i * s.capacity * s.size;
      T* value = static_cast<T*>(values.data) + i * s.capacity * s.size;
      store_head(head_at(token + (s.n_heads + kv) * s.size, s, rotary, position, true),
                 key + position * s.size);
      store_head(head_at(token + (s.n_heads + s.n_kv + kv) * s.size, s, rotary, position, false),
                 value + position * s.size);
      for (std::int64_t head = kv * group; head < (kv + 1) * group; ++head) {
        attend(head_at(token + head * s.size, s, rotary, position, true), key, value, position + 1,
               static_cast<X*>(out.data) + (b * s.n_heads + head) * s.size);
      }
    }
  });
}

template <class T, class X>
void embed_all(const Operand& tokens, const Operand& lengths, const Operand& embedding,
               const Operand& positions, const Operand& x) {
  const std::int64_t width = x.shape[1];
  for (std::int64_t b = 0; b < x.shape[0]; ++b) {
    const std::int64_t position = static_cast<const std::int64_t*>(lengths.data)[b];
    const std::int64_t token =
        static_cast<const std::int64_t*>(tokens.data)[b * tokens.shape[1] + position];
    const T* from = static_cast<const T*>(embedding.data) + token * width;
    const T* place = static_cast<const T*>(positions.data) + position * width;
    X* to = static_cast<X*>(x.data) + b * width;
    for (std::int64_t i = 0; i < width; ++i) {
      float value = static_cast<float>(from[i]);
      if (positions.data != nullptr) value += static_cast<float>(place[i]);
      to[i] = static_cast<X>(value);
    }
  }
}

}  // namespace

void decode_attention(StreamView, const DecodeAttention& how, const Operand& heads,
                      const Operand& rotary, const Operand& keys, const Operand& values,
                      const Operand& lengths, const Operand& out) {
  dispatch_floating(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (heads.dtype == keys.dtype) {
      attend_all<T, T>(how, heads, rotary, keys, values, lengths, out);
    } else {
      attend_all<T, float>(how, heads, rotary, keys, values, lengths, out);
    }
  });
}

void decode_embed(StreamView, const Operand& tokens, const Operand& lengths,
                  const Operand& embedding, const Operand& positions, const Operand& x) {
  dispatch_floating(embedding.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (x.dtype == embedding.dtype) {
      embed_all<T, T>(tokens, lengths, embedding, positions, x);
    } else {
      embed_all<T, float>(tokens, lengths, embedding, positions, x);
    }
  });
}

}  // namespace causeway::kernels::cpu
