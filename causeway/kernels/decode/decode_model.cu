// One step of text generation for one sequence. Bytes: the weights and the cache once; bound by
// memory for large models, and by the latency of 5 exchanges between the blocks per layer for small
// ones. A warp loads its first rows of a matrix before it waits for the vector, and the rows of the
// next layer are prefetched to the L2 cache at the same time.
//
// Shared memory is written again without a barrier of its own: between the last read of a vector
// and the next write to it each thread passes the barriers of another phase.
#include "causeway/kernels/decode/decode_model.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_attention.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/decode/decode_exchange.cuh"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/decode/decode_trace.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/launch.h"

#include <cuda_pipeline.h>

#include <algorithm>
#include <bit>

namespace causeway::kernels::cuda {

namespace {

inline constexpr int kMostBlocks = 1024;  // each has a word with the number of its last step
// Rounds of the head's product that are prefetched: one for each matrix of a layer.
inline constexpr int kHeadRounds = 4;

template <class T, class W, class TileShape>
class Step {
 public:
  using Part = RowPart<W, TileShape::kElements>;
  using MatrixProduct = Product<W, TileShape>;
  using HeadProduct = Product<W, HeadTile<W, TileShape>>;
  static constexpr int kSums = kProductScratch<HeadTile<W, TileShape>>;  // of all products
  static constexpr int kScratch = kSums + 2 * kWarps;

  __device__ __forceinline__ Step(const DecodeModel& model, float* memory)
      : model_(model),
        layout_(model),
        trace_(model),
        position_(static_cast<int>(*model.length)),
        step_(static_cast<std::uint32_t>(model.exchange[blockIdx.x]) + 1),
        layers_(reinterpret_cast<DecodeLayer*>(memory)),
        x_(memory + model.n_layers * sizeof(DecodeLayer) / sizeof(float)),
        inner_(x_ + padded(model.width)),
        residual_{inner_ + padded(longest_inner(model)),
                  inner_ + padded(longest_inner(model)) + model.width},
        norm_weight_(residual_[1] + model.width),
        norm_bias_(norm_weight_ + model.width),
        scratch_(norm_bias_ + model.width),
        attention_(model, position_, scratch_ + kScratch) {
    constexpr int kWords = sizeof(DecodeLayer) / 4;
    const auto* from = reinterpret_cast<const std::uint32_t*>(model.layers);
    for (int i = static_cast<int>(threadIdx.x); i < model.n_layers * kWords; i += kBlock) {
      reinterpret_cast<std::uint32_t*>(layers_)[i] = from[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) model.exchange[blockIdx.x] = step_;
  }

  __device__ __forceinline__ void run() {
    MatrixProduct qkv = qkv_product(0);
    copy_norm(layers_[0].norm_1);
    embed();
    for (int l = 0; l < model_.n_layers; ++l) {
      if (l > 0) read_residual(exchange(l - 1, layout_.last), residual_[0]);
      trace_.mark();
      normalize(residual_[0], layers_[l].norm_1.bias != nullptr);
      trace_.mark();
      run_attention(l, qkv);
      run_mlp(l);
      if (l + 1 == model_.n_layers) break;
      qkv = qkv_product(l + 1);
      copy_norm(layers_[l + 1].norm_1);
    }
    run_head();
    trace_.finish();
  }

  // Floats of shared memory beyond the layers.
  static int floats(const DecodeModel& model) {
    return padded(model.width) + padded(longest_inner(model)) + 4 * model.width + kScratch +
           TokenAttention<T>::floats(model);
  }

 private:
  // From the normalized residual stream to the one after the attention.
  __device__ __forceinline__ void run_attention(int l, MatrixProduct& qkv) {
    const DecodeLayer& layer = layers_[l];
    const Exchange heads = exchange(l, layout_.qkv);
    qkv.run(x_, scratch_,
            [&](int copy, int row, float value, float) { heads.store(copy, row, value); });
    prefetch_layer(l + 1, &DecodeLayer::qkv, model_.width, qkv_rows(), false);
    trace_.mark();

    const Exchange splits = exchange(l, layout_.splits);
    attention_.attend(layer, heads, attention_.load_cached(layer), splits, [&] { trace_.mark(); });
    trace_.mark();
    MatrixProduct projection(layer.projection, mixed(), model_.width, false);
    attention_.mix(splits, [&](int i, float value) { inner_[Part::place_of(i)] = value; });
    trace_.mark();
    pad(inner_, mixed());
    __syncthreads();
    trace_.mark();
    const Exchange middle = exchange(l, layout_.middle);
    projection.run(inner_, scratch_, [&](int copy, int row, float value, float) {
      middle.store(copy, row, residual_[0][row] + value);
    });
    prefetch_layer(l + 1, &DecodeLayer::projection, mixed(), model_.width, false);
    trace_.mark();
  }

  __device__ __forceinline__ void run_mlp(int l) {
    const DecodeLayer& layer = layers_[l];
    MatrixProduct in(layer.in, model_.width, model_.hidden, gated());
    copy_norm(layer.norm_2);
    read_residual(exchange(l, layout_.middle), residual_[1]);
    trace_.mark();
    normalize(residual_[1], layer.norm_2.bias != nullptr);
    trace_.mark();
    const Exchange inner = exchange(l, layout_.inner);
    in.run(x_, scratch_, [&](int copy, int row, float value, float up) {
      inner.store(copy, row, gated() ? swiglu_of(value, up) : decode_gelu(value));
    });
    prefetch_layer(l + 1, &DecodeLayer::in, model_.width, model_.hidden, gated());
    trace_.mark();

    MatrixProduct out(layer.out, model_.hidden, model_.width, false);
    inner.gather(model_.hidden, [&](int i, float value) { inner_[Part::place_of(i)] = value; });
    trace_.mark();
    pad(inner_, model_.hidden);
    __syncthreads();
    trace_.mark();
    const Exchange last = exchange(l, layout_.last);
    out.run(inner_, scratch_, [&](int copy, int row, float value, float) {
      last.store(copy, row, residual_[1][row] + value);
    });
    prefetch_layer(l + 1, &DecodeLayer::out, model_.hidden, model_.width, false);
    trace_.mark();
  }

  __device__ __forceinline__ void run_head() {
    start_next();
    HeadProduct head(model_.head, model_.width, model_.n_logits, false);
    copy_norm(model_.last_norm);
    read_residual(exchange(model_.n_layers - 1, layout_.last), residual_[0]);
    trace_.mark();
    normalize(residual_[0], model_.last_norm.bias != nullptr);
    trace_.mark();
    head.run(
        x_, scratch_,
        [&](int copy, int row, float value, float) {
          if (copy == 0) model_.logits[row] = value;
        },
        model_.tuning.prefetches ? kHeadRounds : 0);
    trace_.mark();
    // For the next step.
    prefetch_layer(0, &DecodeLayer::qkv, model_.width, qkv_rows(), false);
    prefetch_layer(0, &DecodeLayer::projection, mixed(), model_.width, false);
    prefetch_layer(0, &DecodeLayer::in, model_.width, model_.hidden, gated());
    prefetch_layer(0, &DecodeLayer::out, model_.hidden, model_.width, false);
  }

  // Starts to copy a matrix of layer l to the L2 cache. After the last layer: a round of the head's
  // product instead, another one for each matrix.
  __device__ __forceinline__ void prefetch_layer(int l, DecodeMatrix DecodeLayer::*matrix, int in,
                                                 int out, bool gated) {
    if (!model_.tuning.prefetches) return;
    if (l < model_.n_layers) {
      prefetch_rows<W>(layers_[l].*matrix, in, out, gated, 0, out);
      return;
    }
    const int round = HeadProduct::rows_per_round(model_.width, false);
    prefetch_rows<W>(model_.head, model_.width, model_.n_logits, false, head_rows_,
                     head_rows_ + round);
    head_rows_ += round;
  }

  __host__ __device__ __forceinline__ static int longest_inner(const DecodeModel& model) {
    const int mixed = model.heads * model.size;
    return mixed > model.hidden ? mixed : model.hidden;
  }
  // Up to whole parts of a row.
  __host__ __device__ __forceinline__ static int padded(int count) {
    constexpr int kElements = Part::kElements;
    return (count + kElements - 1) / kElements * kElements;
  }
  __device__ __forceinline__ static void pad(float* vector, int count) {
    const int end = padded(count);
    for (int i = count + static_cast<int>(threadIdx.x); i < end; i += kBlock) {
      vector[Part::place_of(i)] = 0;
    }
  }

  __device__ __forceinline__ Exchange exchange(int l, int vector) const {
    return Exchange(model_.exchange + kMostBlocks + l * layout_.size + vector, layout_.copy, step_,
                    model_.tuning);
  }

  __device__ __forceinline__ int mixed() const { return model_.heads * model_.size; }
  __device__ __forceinline__ bool gated() const {
    return model_.activation == DecodeActivation::gated_silu;
  }
  __device__ __forceinline__ int qkv_rows() const {
    return (model_.heads + 2 * model_.kv_heads) * model_.size;
  }
  __device__ __forceinline__ MatrixProduct qkv_product(int l) const {
    return MatrixProduct(layers_[l].qkv, model_.width, qkv_rows(), false);
  }

  // The residual stream starts with the embedding of the token. Each thread owns the elements that
  // Exchange::gather gives it.
  __device__ __forceinline__ void embed() {
    const auto* embedding =
        static_cast<const T*>(model_.embedding) + model_.tokens[position_] * model_.width;
    const auto* positions = static_cast<const T*>(model_.positions);
    const auto value_of = [&](int i) {
      const float value = static_cast<float>(embedding[i]);
      if (positions == nullptr) return value;
      return value + static_cast<float>(positions[std::int64_t{position_} * model_.width + i]);
    };
    for_own([&](int i) { residual_[0][i] = value_of(i); });
    if (model_.norm == DecodeNorm::layer) pivot_ = value_of(0);
  }
  __device__ __forceinline__ void read_residual(const Exchange& from, float* to) {
    from.gather(model_.width, [&](int i, float value) { to[i] = value; });
  }
  template <class Body>
  __device__ __forceinline__ void for_own(const Body& body) const {
    for (int i = 2 * static_cast<int>(threadIdx.x); i < model_.width; i += 2 * kBlock) {
      body(i);
      body(i + 1);
    }
  }

  // Starts to copy the weights of a norm to shared memory: each thread copies those of its own
  // elements, while it waits.
  __device__ __forceinline__ void copy_norm(const DecodeNormWeights& norm) {
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
    auto* sums_of_warps = reinterpret_cast<float2*>(scratch_ + kSums);
    float sum = 0;
    float squares = 0;
    for_own([&](int i) {
      const float distance = residual[i] - pivot_;
      sum += distance;
      squares += distance * distance;
    });
    sum = sum_warp(sum);
    squares = sum_warp(squares);
    if (threadIdx.x % 32 == 0) sums_of_warps[threadIdx.x / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = 0;
    squares = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      sum += sums_of_warps[i].x;
      squares += sums_of_warps[i].y;
    }
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
    for_own([&](int i) {
      const float shift = has_bias ? norm_bias_[i] : 0.0f;
      x_[Part::place_of(i)] = (residual[i] - mean) * scale * norm_weight_[i] + shift;
    });
    pad(x_, model_.width);
    __syncthreads();
  }

  const DecodeModel& model_;
  ExchangeLayout layout_;
  DecodeTrace trace_;
  int position_;
  std::uint32_t step_;
  float pivot_ = 0;    // near the mean of the residual stream: that of the norm before
  int head_rows_ = 0;  // of this block that were prefetched
  // In shared memory:
  DecodeLayer* layers_;
  float* x_;            // the normalized residual stream, in the order of place_of
  float* inner_;        // the operand of the products after it: mixed heads, hidden units
  float* residual_[2];  // (width) each: before and after the attention
  float* norm_weight_;  // (width)
  float* norm_bias_;
  float* scratch_;  // of a product, then sums of a norm
  TokenAttention<T> attention_;
};

template <class T, class W, class TileShape>
__global__ void __launch_bounds__(kBlock, 1)
    decode_kernel(const __grid_constant__ DecodeModel model) {
  extern __shared__ __align__(16) float memory[];
  Step<T, W, TileShape>(model, memory).run();
}

template <class T, class W, class TileShape>
std::size_t shared_bytes(const DecodeModel& model) {
  return static_cast<std::size_t>(model.n_layers) * sizeof(DecodeLayer) +
         static_cast<std::size_t>(Step<T, W, TileShape>::floats(model)) * sizeof(float);
}

template <class F>
void dispatch_model(const DecodeModel& model, const F& body) {
  const auto with_tile = [&](auto tag, auto weights) {
    const bool wide =
        model.tuning.wide || std::max(model.width, model.hidden) > kWarps * NarrowTile::kElements;
    if (wide) return body(tag, weights, Tag<WideTile>());
    body(tag, weights, Tag<NarrowTile>());
  };
  const auto with = [&](auto tag) {
    if (model.weights == DType::i8) return with_tile(tag, Tag<std::int8_t>());
    with_tile(tag, tag);
  };
  if (model.dtype == DType::bf16) return with(Tag<bf16>());
  with(Tag<float>());
}

int attribute(Device device, cudaDeviceAttr which) {
  int value = 0;
  driver::check(cudaDeviceGetAttribute(&value, which, device.index), "device attribute");
  return value;
}

}  // namespace

int decode_blocks(Device device) { return attribute(device, cudaDevAttrMultiProcessorCount); }

bool can_decode_model(Device device, const DecodeModel& model) {
  if (model.dtype != DType::bf16 && model.dtype != DType::f32) return false;
  const int n_blocks = decode_blocks(device);
  const int bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  bool fits = false;
  dispatch_model(model, [&](auto tag, auto weights, auto tile) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    using TileShape = typename decltype(tile)::type;
    const int lanes = model.size / vector_width<T>();
    const auto whole = [](int length) {
      return length % static_cast<int>(16 / sizeof(W)) == 0 &&
             length <= kWarps * TileShape::kElements;
    };
    fits = model.size % vector_width<T>() == 0 &&
           std::has_single_bit(static_cast<unsigned>(lanes)) && lanes <= 32 &&
           n_blocks <= kMostBlocks && model.heads <= n_blocks && whole(model.width) &&
           whole(model.hidden) && whole(model.heads * model.size) &&
           shared_bytes<T, W, TileShape>(model) <= static_cast<std::size_t>(bytes);
  });
  return fits;
}

std::int64_t decode_exchange_size(const DecodeModel& model) {
  return kMostBlocks + std::int64_t{kDecodeCopies} * ExchangeLayout(model).copy;
}

void decode_model(StreamView stream, const DecodeModel& model) {
  const auto n_blocks = static_cast<unsigned>(decode_blocks(stream.device()));
  dispatch_model(model, [&](auto tag, auto weights, auto tile) {
    using T = typename decltype(tag)::type;
    using W = typename decltype(weights)::type;
    using TileShape = typename decltype(tile)::type;
    launch(Launch("decode_model", stream, dim3(n_blocks), dim3(kBlock),
                  shared_bytes<T, W, TileShape>(model))
               .cooperative(),
           decode_kernel<T, W, TileShape>, model);
  });
}

}  // namespace causeway::kernels::cuda
