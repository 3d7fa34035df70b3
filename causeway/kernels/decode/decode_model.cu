// One step of text generation for one sequence. Bytes: the weights and the cache once; bound by
// memory for large models, and by the latency of 5 barriers per layer for small ones: GPT-2 124M
// bf16 reaches 13% of an H200's bandwidth. The weights of a warp's first row are loaded before the
// barrier in front of its product. Values that other blocks wrote in this kernel are read past the
// L1 cache, which is not coherent.
#include "causeway/kernels/decode/decode_model.h"

#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/decode/running_softmax.cuh"
#include "causeway/kernels/rotary/rotary_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/launch.h"

#include <cooperative_groups.h>

#include <algorithm>
#include <bit>

namespace causeway::kernels::cuda {

namespace {

template <class T, class W>
class Step {
 public:
  __device__ __forceinline__ Step(const DecodeModel& model, float* memory)
      : model_(model), position_(static_cast<int>(*model.length)) {
    layers_ = reinterpret_cast<DecodeLayer*>(memory);
    weights_ = memory + model.n_layers * sizeof(DecodeLayer) / sizeof(float);
    x_ = weights_ + padded_splits(model);
    constexpr int kWords = sizeof(DecodeLayer) / 4;
    const auto* from = reinterpret_cast<const std::uint32_t*>(model.layers);
    for (int i = static_cast<int>(threadIdx.x); i < model.n_layers * kWords; i += kBlock) {
      reinterpret_cast<std::uint32_t*>(layers_)[i] = from[i];
    }
    __syncthreads();
  }

  __device__ __forceinline__ void run() {
    const auto grid = cooperative_groups::this_grid();
    const bool gated = model_.activation == DecodeActivation::gated_silu;
    const int mixed = model_.heads * model_.size;
    Product<W> qkv = qkv_product(0);
    embed();
    for (int l = 0; l < model_.n_layers; ++l) {
      const DecodeLayer& layer = layers_[l];
      if (l > 0) load(model_.x, model_.width);
      normalize(layer.norm_1);
      qkv.run(x_, scratch_(), [&](int row, float value, float, float) { model_.qkv[row] = value; });
      Cached cached = load_cached(layer);
      grid.sync();
      attend(layer, cached);
      Product<W> projection(layer.projection, mixed, model_.width, false, model_.x);
      grid.sync();
      mix();
      projection.run(x_, scratch_(), [&](int row, float value, float, float residual) {
        model_.x[row] = residual + value;
      });
      Product<W> in(layer.in, model_.width, model_.hidden, gated, nullptr);
      prefetch(layer.norm_2);
      grid.sync();
      load(model_.x, model_.width);
      normalize(layer.norm_2);
      in.run(x_, scratch_(), [&](int row, float value, float up, float) {
        model_.inner[row] = gated ? swiglu_of(value, up) : decode_gelu(value);
      });
      Product<W> out(layer.out, model_.hidden, model_.width, false, model_.x);
      grid.sync();
      load(model_.inner, model_.hidden);
      __syncthreads();
      out.run(x_, scratch_(), [&](int row, float value, float, float residual) {
        model_.x[row] = residual + value;
      });
      if (l + 1 == model_.n_layers) break;
      qkv = qkv_product(l + 1);
      prefetch(layers_[l + 1].norm_1);
      grid.sync();
    }
    Product<W> head(model_.head, model_.width, model_.n_logits, false, nullptr);
    prefetch(model_.last_norm);
    grid.sync();
    load(model_.x, model_.width);
    normalize(model_.last_norm);
    head.run(x_, scratch_(),
             [&](int row, float value, float, float) { model_.logits[row] = value; });
  }

  // Floats of shared memory beyond the layers.
  static int floats(const DecodeModel& model) {
    const int longest = std::max({model.width, model.hidden, model.heads * model.size});
    constexpr int kElements = RowPart<W>::kElements;
    const int x = (longest + kElements - 1) / kElements * kElements;
    return padded_splits(model) + std::max(x, kWarps * (model.size + 2));
  }

 private:
  static constexpr int kVec = vector_width<T>();

  // Keys and values of this thread's first position, loaded before the query is known.
  struct Cached {
    Vector<T, kVec> key = {};
    Vector<T, kVec> value = {};
  };

  __device__ __forceinline__ static float* scratch_() {
    __shared__ float scratch[kWarps];
    return scratch;
  }

  __device__ __forceinline__ Product<W> qkv_product(int l) const {
    const int rows = (model_.heads + 2 * model_.kv_heads) * model_.size;
    return Product<W>(layers_[l].qkv, model_.width, rows, false, nullptr);
  }

  // x = the embedding of the token, in every block; block 0 keeps it as the residual stream.
  __device__ __forceinline__ void embed() {
    const auto* embedding =
        static_cast<const T*>(model_.embedding) + model_.tokens[position_] * model_.width;
    const auto* positions = static_cast<const T*>(model_.positions);
    for_padded(model_.width, [&](int i) {
      float value = static_cast<float>(embedding[i]);
      if (positions != nullptr) {
        value += static_cast<float>(positions[std::int64_t{position_} * model_.width + i]);
      }
      if (blockIdx.x == 0) model_.x[i] = value;
      return value;
    });
  }

  __device__ __forceinline__ void load(const float* from, int count) {
    for_padded(count, [&](int i) { return __ldcg(from + i); });
  }

  // Writes value(i) for i below `count` to shared memory, then zeros to the end of the last part.
  template <class Value>
  __device__ __forceinline__ void for_padded(int count, const Value& value) {
    constexpr int kElements = RowPart<W>::kElements;
    const int padded = (count + kElements - 1) / kElements * kElements;
    for (int i = static_cast<int>(threadIdx.x); i < padded; i += kBlock) {
      x_[RowPart<W>::place_of(i)] = i < count ? value(i) : 0.0f;
    }
  }

  // Loads the weights of a norm into the L2 cache, before the barrier in front of it.
  __device__ __forceinline__ void prefetch(const DecodeNormWeights& norm) const {
    constexpr int kLine = 128 / sizeof(float);
    const int i = static_cast<int>(threadIdx.x) * kLine;
    if (i >= model_.width) return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(norm.weight + i));
    if (norm.bias != nullptr) asm volatile("prefetch.global.L2 [%0];" ::"l"(norm.bias + i));
  }

  // Each thread normalises the elements that it wrote.
  __device__ __forceinline__ void normalize(const DecodeNormWeights& norm) {
    const auto each = [&](const auto& body) {
      for (int i = static_cast<int>(threadIdx.x); i < model_.width; i += kBlock) {
        body(i, x_[RowPart<W>::place_of(i)]);
      }
    };
    const float share = 1.0f / static_cast<float>(model_.width);
    float mean = 0;
    if (model_.norm == DecodeNorm::layer) {
      float sum = 0;
      each([&](int, float value) { sum += value; });
      mean = sum_block(sum, scratch_()) * share;
    }
    float squares = 0;
    each([&](int, float value) { squares += (value - mean) * (value - mean); });
    const float scale = rsqrtf(sum_block(squares, scratch_()) * share + model_.epsilon);
    each([&](int i, float& value) {
      const float shift = norm.bias != nullptr ? norm.bias[i] : 0.0f;
      value = (value - mean) * scale * norm.weight[i] + shift;
    });
    __syncthreads();
  }

  // The positions of a head are divided over n_splits blocks, and in a block over groups of lanes
  // that hold one position at a time.
  __device__ __forceinline__ int n_splits() const {
    return min(static_cast<int>(gridDim.x) / model_.heads, kDecodeSplits);
  }
  __device__ __forceinline__ int split() const {
    return static_cast<int>(blockIdx.x) / model_.heads;
  }
  __device__ __forceinline__ int head() const {
    return static_cast<int>(blockIdx.x) % model_.heads;
  }
  __device__ __forceinline__ int kv_head() const {
    return head() / (model_.heads / model_.kv_heads);
  }
  __device__ __forceinline__ int lanes() const { return model_.size / kVec; }
  __device__ __forceinline__ int column() const {
    return static_cast<int>(threadIdx.x) % lanes() * kVec;
  }
  __device__ __forceinline__ int first_position() const {
    return split() * (kBlock / lanes()) + static_cast<int>(threadIdx.x) / lanes();
  }
  __device__ __forceinline__ std::int64_t cache_offset(int position) const {
    return (std::int64_t{kv_head()} * model_.capacity + position) * model_.size + column();
  }

  __device__ __forceinline__ Cached load_cached(const DecodeLayer& layer) const {
    Cached cached;
    const int position = first_position();
    if (split() < n_splits() && position < position_) {
      cached.key = load_vector<kVec>(static_cast<const T*>(layer.keys) + cache_offset(position));
      cached.value =
          load_vector<kVec>(static_cast<const T*>(layer.values) + cache_offset(position));
    }
    return cached;
  }

  // This lane's elements of a head of the token, rotated for its position.
  __device__ __forceinline__ Values<float, kVec> token_part(int which, bool rotates) const {
    const float* from = model_.qkv + which * model_.size;
    Values<float, kVec> part;
    const int half = model_.size / 2;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = column() + i;
      part.value[i] = __ldcg(from + at);
      if (!rotates || model_.rotary == nullptr) continue;
      const int pair = at % half;
      const float* angle = model_.rotary + std::int64_t{position_} * model_.size + 2 * pair;
      const Pair<float> turned =
          rotate(Pair<float>{__ldcg(from + pair), __ldcg(from + pair + half)}, angle[0], angle[1]);
      part.value[i] = at < half ? turned.first : turned.second;
    }
    return part;
  }

  __device__ __forceinline__ void attend(const DecodeLayer& layer, Cached cached) {
    if (split() >= n_splits()) return;
    const Values<float, kVec> query = token_part(head(), true);
    const float scale = rsqrtf(static_cast<float>(model_.size));
    RunningSoftmax<kVec> softmax;
    const int n_groups = kBlock / lanes();
    // All lanes of a warp make the same number of rounds, because they exchange values.
    for (int base = split() * n_groups; base <= position_; base += n_splits() * n_groups) {
      const int position = base + static_cast<int>(threadIdx.x) / lanes();
      if (base > split() * n_groups && position < position_) {
        cached.key = load_vector<kVec>(static_cast<const T*>(layer.keys) + cache_offset(position));
        cached.value =
            load_vector<kVec>(static_cast<const T*>(layer.values) + cache_offset(position));
      }
      if (position == position_) store_token(layer, cached);
      const Values<float, kVec> key = unpack(cached.key);
      float score = 0;
#pragma unroll
      for (int i = 0; i < kVec; ++i) score += query.value[i] * key.value[i];
      for (int mask = lanes() / 2; mask > 0; mask /= 2) {
        score += __shfl_xor_sync(0xffffffffu, score, mask);
      }
      if (position <= position_) softmax.add(score * scale, unpack(cached.value));
    }
    for (int mask = lanes(); mask < 32; mask *= 2) softmax.combine(mask);
    const Place at;
    float* lines = x_;  // (kWarps, size + 2)
    const int length = model_.size + 2;
    __syncthreads();
    if (at.lane < lanes()) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) lines[at.warp * length + column() + i] = softmax.values[i];
      if (at.lane == 0) {
        lines[at.warp * length + model_.size] = softmax.largest;
        lines[at.warp * length + model_.size + 1] = softmax.total;
      }
    }
    __syncthreads();
    float* to = model_.attention + (head() * kDecodeSplits + split()) * length;
    for (int i = static_cast<int>(threadIdx.x); i < length; i += kBlock) {
      float top = -INFINITY;
      for (int w = 0; w < kWarps; ++w) top = fmaxf(top, lines[w * length + model_.size]);
      float sum = 0;
      for (int w = 0; w < kWarps; ++w) {
        const float largest = lines[w * length + model_.size];
        if (largest > -INFINITY) sum += lines[w * length + i] * __expf(largest - top);
      }
      to[i] = i == model_.size ? top : sum;
    }
    __syncthreads();
  }

  // The token's own key and value, rounded as in the cache. The first head of a group stores them.
  __device__ __forceinline__ void store_token(const DecodeLayer& layer, Cached& cached) const {
    cached.key = pack<T>(token_part(model_.heads + kv_head(), true));
    cached.value = pack<T>(token_part(model_.heads + model_.kv_heads + kv_head(), false));
    if (head() % (model_.heads / model_.kv_heads) != 0) return;
    store_vector(static_cast<T*>(layer.keys) + cache_offset(position_), cached.key);
    store_vector(static_cast<T*>(layer.values) + cache_offset(position_), cached.value);
  }

  // x = the attention of all heads, from their splits.
  __device__ __forceinline__ void mix() {
    const int length = model_.size + 2;
    // 16 lanes compute the weights of a head's splits.
    static_assert(kDecodeSplits == 16);
    for (int i = static_cast<int>(threadIdx.x); i < padded_splits(model_); i += kBlock) {
      const bool live = i < model_.heads * kDecodeSplits && i % kDecodeSplits < n_splits();
      const float* from = model_.attention + i * length + model_.size;
      const float largest = live ? __ldcg(from) : -INFINITY;
      const float total = live ? __ldcg(from + 1) : 0.0f;
      float top = largest;
#pragma unroll
      for (int mask = 8; mask > 0; mask /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
      }
      const float weight = largest > -INFINITY ? __expf(largest - top) : 0.0f;
      float sum = weight * total;
#pragma unroll
      for (int mask = 8; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
      weights_[i] = weight / sum;
    }
    __syncthreads();
    for_padded(model_.heads * model_.size, [&](int i) {
      const int first = i / model_.size * kDecodeSplits;
      const float* from = model_.attention + first * length + i % model_.size;
      float sum = 0;
#pragma unroll
      for (int s = 0; s < kDecodeSplits; ++s) {
        if (s < n_splits()) sum += weights_[first + s] * __ldcg(from + s * length);
      }
      return sum;
    });
    __syncthreads();
  }

  // The splits of all heads, up to whole warps.
  __host__ __device__ __forceinline__ static int padded_splits(const DecodeModel& model) {
    return (model.heads * kDecodeSplits + 31) / 32 * 32;
  }

  const DecodeModel& model_;
  int position_;
  DecodeLayer* layers_;  // in shared memory
  float* weights_;       // in shared memory, (heads, kDecodeSplits): of the splits
  float* x_;             // in shared memory: the operand of the next product
};

template <class T, class W>
__global__ void __launch_bounds__(kBlock, 1)
    decode_kernel(const __grid_constant__ DecodeModel model) {
  extern __shared__ __align__(16) float memory[];
  Step<T, W>(model, memory).run();
}

template <class T, class W>
std::size_t shared_bytes(const DecodeModel& model) {
  return static_cast<std::size_t>(model.n_layers) * sizeof(DecodeLayer) +
         static_cast<std::size_t>(Step<T, W>::floats(model)) * sizeof(float);
}

template <class F>
void dispatch_model(const DecodeModel& model, const F& body) {
  const auto with = [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (model.weights == DType::i8) return body(tag, Tag<std::int8_t>());
    return body(tag, Tag<T>());
  };
  if (model.dtype == DType::bf16) return with(Tag<bf16>());
  with(Tag<float>());
}

}  // namespace

bool can_decode_model(Device device, const DecodeModel& model) {
  if (model.dtype != DType::bf16 && model.dtype != DType::f32) return false;
  int n_blocks = 0;
  int bytes = 0;
  driver::check(cudaDeviceGetAttribute(&n_blocks, cudaDevAttrMultiProcessorCount, device.index),
                "multiprocessors");
  driver::check(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index),
      "shared memory");
  bool fits = false;
  dispatch_model(model, [&](auto tag, auto weights) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    const int lanes = model.size / vector_width<T>();
    const auto whole = [](int length) {
      return length % RowPart<W>::kVec == 0 && length <= kWarps * RowPart<W>::kElements;
    };
    fits = model.size % vector_width<T>() == 0 &&
           std::has_single_bit(static_cast<unsigned>(lanes)) && lanes <= 32 &&
           model.heads <= n_blocks && whole(model.width) && whole(model.hidden) &&
           whole(model.heads * model.size) &&
           shared_bytes<T, W>(model) + 1024 <= static_cast<std::size_t>(bytes);
  });
  return fits;
}

void decode_model(StreamView stream, const DecodeModel& model) {
  int n_blocks = 0;
  driver::check(
      cudaDeviceGetAttribute(&n_blocks, cudaDevAttrMultiProcessorCount, stream.device().index),
      "multiprocessors");
  dispatch_model(model, [&](auto tag, auto weights) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    launch(Launch("decode_model", stream, dim3(static_cast<unsigned>(n_blocks)), dim3(kBlock),
                  shared_bytes<T, W>(model))
               .cooperative(),
           decode_kernel<T, W>, model);
  });
}

}  // namespace causeway::kernels::cuda
