// One step of text generation for one sequence. Bytes: the weights and the cache once; bound by
// memory for large models, and by the latency of 5 exchanges between the blocks per layer for small
// ones. A warp loads its first rows of a matrix before it waits for the vector.
//
// A step is a sequence of phases: four per layer, one per matrix, and the head. Each prepares a
// vector in shared memory and multiplies it. The phases share their code, because a multiprocessor
// executes it once per phase: code that does not fit the instruction cache costs more time than
// the arithmetic.
//
// Shared memory is written again without a barrier of its own: between the last read of a vector
// and the next write to it each thread passes the barriers of another phase.
#pragma once

#include "causeway/kernels/decode/decode_attention.cuh"
#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/decode/decode_exchange.cuh"
#include "causeway/kernels/decode/decode_model.h"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/decode/decode_trace.cuh"

#include <cuda_pipeline.h>

namespace causeway::kernels::cuda {

inline constexpr int kMostBlocks = 1024;  // each has a word with the number of its last step

// By the matrix that they multiply.
enum DecodePhase { kQkv, kProjection, kIn, kOut, kHead };

template <class T, class W, class TileShape>
class DecodeStep {
 public:
  using Part = RowPart<W, TileShape::kElements>;
  using MatrixProducts = Products<W, TileShape>;
  using MatrixFactor = typename MatrixProducts::Factor;
  using Split = RowSplit<TileShape::kElements>;

  __device__ __forceinline__ DecodeStep(const DecodeModel& model, float* memory)
      : model_(model),
        layout_(model),
        trace_(model),
        position_(static_cast<int>(*model.length)),
        step_(static_cast<std::uint32_t>(model.exchange[blockIdx.x]) + 1),
        of_width_(model.width),
        of_heads_(model.heads * model.size),
        of_hidden_(model.hidden),
        layers_(reinterpret_cast<DecodeLayer*>(memory)),
        x_(memory + model.n_layers * sizeof(DecodeLayer) / sizeof(float)),
        inner_(x_ + padded(model.width)),
        residual_(inner_ + longest_inner(model)),
        norm_weight_(residual_ + 2 * model.width),
        norm_bias_(norm_weight_ + model.width),
        scratch_(norm_bias_ + model.width),
        attention_(model, position_, scratch_ + kScratch) {
    constexpr int kWords = sizeof(DecodeLayer) / 4;
    const auto* from = reinterpret_cast<const std::uint32_t*>(model.layers);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < model.n_layers * kWords; i += kBlock) {
      reinterpret_cast<std::uint32_t*>(layers_)[i] = from[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) model.exchange[blockIdx.x] = step_;
  }

  __device__ __forceinline__ void run() {
    MatrixProducts products(factor(0, kQkv));
    int layer = 0;
    int phase = model_.n_layers > 0 ? kQkv : kHead;
#pragma unroll 1
    while (true) {
      if (phase == kProjection) {
        mix_heads(layer);
      } else if (phase == kOut) {
        read_hidden(layer);
      } else {
        read_stream(layer, phase);
      }
      // After the last layer comes the head.
      const bool ends = phase == kOut;
      const int next_layer = layer + (ends ? 1 : 0);
      const int next = ends ? (next_layer < model_.n_layers ? kQkv : kHead) : phase + 1;
      const Exchange to = exchange(layer, result_of(phase));
      float* x = phase == kProjection || phase == kOut ? inner_ : x_;
      products.run(x, scratch_, factor(next_layer, next), [&](int row, float value, float up) {
        if (phase == kHead) {
          model_.logits[row] = value;
          return;
        }
        if (phase == kProjection) value += residual_[row];
        if (phase == kOut) value += residual_[model_.width + row];
        if (phase == kIn) value = gated() ? swiglu_of(value, up) : decode_gelu(value);
        to.store(row, value);
      });
      trace_.mark();
      if (phase == kHead) break;
      phase = next;
      layer = next_layer;
    }
    trace_.finish();
  }

  // Floats of shared memory beyond the layers.
  static int floats(const DecodeModel& model) {
    return padded(model.width) + longest_inner(model) + 4 * model.width + kScratch +
           TokenAttention<T>::floats(model);
  }

 private:
  static constexpr int kScratch = MatrixProducts::kScratch + 2 * kWarps;

  // The matrix of a phase; after the head one without rows.
  __device__ __forceinline__ MatrixFactor factor(int l, int phase) const {
    const DecodeLayer& layer = layers_[l];
    switch (phase) {
      case kQkv: return {&layer.qkv, model_.width, qkv_rows(), false, of_width_};
      case kProjection: return {&layer.projection, mixed(), model_.width, false, of_heads_};
      case kIn: return {&layer.in, model_.width, model_.hidden, gated(), of_width_};
      case kOut: return {&layer.out, model_.hidden, model_.width, false, of_hidden_};
      case kHead: return {&model_.head, model_.width, model_.n_logits, false, of_width_};
      default: return {&model_.head, model_.width, 0, false, of_width_};
    }
  }
  // The vector that a phase computes; the head's is none.
  __device__ __forceinline__ int result_of(int phase) const {
    switch (phase) {
      case kQkv: return layout_.qkv;
      case kProjection: return layout_.middle;
      case kIn: return layout_.inner;
      default: return layout_.last;
    }
  }

  // Phases kQkv, kIn and kHead: x = the normalized residual stream, which stays in residual_.
  __device__ __forceinline__ void read_stream(int l, int phase) {
    const DecodeNormWeights& norm = phase == kHead  ? model_.last_norm
                                    : phase == kQkv ? layers_[l].norm_1
                                                    : layers_[l].norm_2;
    if (phase == kHead) start_next();
    copy_norm(norm);
    float* to = residual_ + (phase == kIn ? model_.width : 0);
    if (phase == kQkv && l == 0) {
      embed(to);
    } else {
      const Exchange from =
          phase == kIn ? exchange(l, layout_.middle) : exchange(l - 1, layout_.last);
      from.gather<1>(model_.width, [&](int i, float first, float second) {
        to[i] = first;
        to[i + 1] = second;
      });
    }
    trace_.mark();
    normalize(to, norm.bias != nullptr);
    trace_.mark();
  }

  // Phase kProjection: inner = the attention of all heads.
  __device__ __forceinline__ void mix_heads(int l) {
    const DecodeLayer& layer = layers_[l];
    const Exchange splits = exchange(l, layout_.splits);
    attention_.attend(layer, exchange(l, layout_.qkv), attention_.load_cached(layer), splits,
                      [&] { trace_.mark(); });
    trace_.mark();
    attention_.mix(splits, [&](int i, float first, float second) {
      Part::store_pair(inner_, i, mixed(), first, second);
    });
    finish_inner(mixed());
  }

  // Phase kOut: inner = the hidden units.
  __device__ __forceinline__ void read_hidden(int l) {
    const Exchange from = exchange(l, layout_.inner);
    from.gather<4>(model_.hidden, [&](int i, float first, float second) {
      Part::store_pair(inner_, i, model_.hidden, first, second);
    });
    finish_inner(model_.hidden);
  }

  __device__ __forceinline__ void finish_inner(int count) {
    trace_.mark();
    pad(inner_, count);
    __syncthreads();
    trace_.mark();
  }

  __host__ __device__ __forceinline__ static int longest_inner(const DecodeModel& model) {
    const int mixed = model.heads * model.size;
    return padded(mixed > model.hidden ? mixed : model.hidden);
  }
  // Up to whole parts of a row.
  __host__ __device__ __forceinline__ static int padded(int count) {
    constexpr int kElements = Part::kElements;
    return (count + kElements - 1) / kElements * kElements;
  }
  __device__ __forceinline__ static void pad(float* vector, int count) {
    const int end = padded(count);
#pragma unroll 1
    for (int i = count + static_cast<int>(threadIdx.x); i < end; i += kBlock) {
      Part::clear(vector, i);
    }
  }

  __device__ __forceinline__ Exchange exchange(int l, int vector) const {
    return Exchange(model_.exchange + kMostBlocks + l * layout_.size + vector, step_);
  }

  __device__ __forceinline__ int mixed() const { return model_.heads * model_.size; }
  __device__ __forceinline__ bool gated() const {
    return model_.activation == DecodeActivation::gated_silu;
  }
  __device__ __forceinline__ int qkv_rows() const {
    return (model_.heads + 2 * model_.kv_heads) * model_.size;
  }

  // The residual stream starts with the embedding of the token. Each thread owns the elements that
  // Exchange::gather gives it.
  __device__ __forceinline__ void embed(float* to) {
    const auto* embedding =
        static_cast<const T*>(model_.embedding) + model_.tokens[position_] * model_.width;
    const auto* positions = static_cast<const T*>(model_.positions);
    const auto value_of = [&](int i) {
      const float value = static_cast<float>(embedding[i]);
      if (positions == nullptr) return value;
      return value + static_cast<float>(positions[std::int64_t{position_} * model_.width + i]);
    };
    for_own([&](int i) {
      to[i] = value_of(i);
      to[i + 1] = value_of(i + 1);
    });
    if (model_.norm == DecodeNorm::layer) pivot_ = value_of(0);
  }
  // Calls body(i) for the elements i and i + 1 of this thread.
  template <class Body>
  __device__ __forceinline__ void for_own(const Body& body) const {
#pragma unroll 1
    for (int i = 2 * static_cast<int>(threadIdx.x); i < model_.width; i += 2 * kBlock) {
      body(i);
    }
  }

  // Starts to copy the weights of a norm to shared memory: each thread copies those of its own
  // elements, while it waits.
  __device__ __forceinline__ void copy_norm(const DecodeNormWeights& norm) {
#pragma unroll 1
    for (int i = 2 * static_cast<int>(threadIdx.x); i < model_.width; i += 2 * kBlock) {
      __pipeline_memcpy_async(norm_weight_ + i, norm.weight + i, 2 * sizeof(float));
      if (norm.bias == nullptr) continue;
      __pipeline_memcpy_async(norm_bias_ + i, norm.bias + i, 2 * sizeof(float));
    }
    __pipeline_commit();
  }

  // x = the normalized residual stream. Mean and variance come from one reduction of the sums of
  // distances from `pivot_` and of their squares.
  __device__ __forceinline__ void normalize(const float* residual, bool has_bias) {
    auto* sums_of_warps = reinterpret_cast<float2*>(scratch_ + MatrixProducts::kScratch);
    float sum = 0;
    float squares = 0;
    for_own([&](int i) {
      for (const float value : {residual[i], residual[i + 1]}) {
        const float distance = value - pivot_;
        sum += distance;
        squares += distance * distance;
      }
    });
    sum = sum_warp(sum);
    squares = sum_warp(squares);
    if (threadIdx.x % 32 == 0) sums_of_warps[threadIdx.x / 32] = make_float2(sum, squares);
    __syncthreads();
    const float2 part = sums_of_warps[threadIdx.x % kWarps];
    sum = sum_warp<kWarps>(part.x);
    squares = sum_warp<kWarps>(part.y);
    const float share = 1.0f / static_cast<float>(model_.width);
    float variance = squares * share;
    float mean = 0;
    if (model_.norm == DecodeNorm::layer) {
      const float moved = sum * share;
      variance = fmaxf(variance - moved * moved, 0.0f);
      mean = pivot_ + moved;
      pivot_ = mean;
    }
    const float scale = rsqrtf(variance + model_.epsilon);
    __pipeline_wait_prior(0);
    const auto normal = [&](int i) {
      const float shift = has_bias ? norm_bias_[i] : 0.0f;
      return (residual[i] - mean) * scale * norm_weight_[i] + shift;
    };
    for_own([&](int i) { Part::store_pair(x_, i, model_.width, normal(i), normal(i + 1)); });
    pad(x_, model_.width);
    __syncthreads();
  }

  const DecodeModel& model_;
  ExchangeLayout layout_;
  DecodeTrace trace_;
  int position_;
  std::uint32_t step_;
  Split of_width_;  // by the length of the rows
  Split of_heads_;
  Split of_hidden_;
  float pivot_ = 0;  // near the mean of the residual stream: that of the norm before
  // In shared memory:
  DecodeLayer* layers_;
  float* x_;            // the normalized residual stream, as Part::store_pair writes it
  float* inner_;        // the operand of the products after it: mixed heads, hidden units
  float* residual_;     // (2, width): before and after the attention
  float* norm_weight_;  // (width)
  float* norm_bias_;
  float* scratch_;  // of a product, then sums of a norm
  TokenAttention<T> attention_;
};

}  // namespace causeway::kernels::cuda
