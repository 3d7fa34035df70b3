// One step of text generation for one sequence. Bytes: the weights and the cache once; bound by
// memory for large models, and by the latency of 5 exchanges between the blocks per layer for small
// ones: GPT-2 124M bf16 reaches 18% of an H200's bandwidth. A warp loads its first two rows of a
// matrix before it waits for the vector.
#include "causeway/kernels/decode/decode_model.h"

#include "causeway/kernels/decode/decode_attention.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/decode/decode_exchange.cuh"
#include "causeway/kernels/decode/decode_product.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/launch.h"

#include <cuda_pipeline.h>

#include <bit>

namespace causeway::kernels::cuda {

namespace {

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

inline constexpr int kMostBlocks = 1024;  // each has a word with the number of its last step

template <class T, class W>
class Step {
 public:
  __device__ __forceinline__ Step(const DecodeModel& model, float* memory)
      : model_(model),
        layout_(model),
        position_(static_cast<int>(*model.length)),
        step_(static_cast<std::uint32_t>(model.exchange[blockIdx.x]) + 1),
        layers_(reinterpret_cast<DecodeLayer*>(memory)),
        x_(memory + model.n_layers * sizeof(DecodeLayer) / sizeof(float)),
        residual_(x_ + padded(longest(model))),
        norm_weight_(residual_ + model.width),
        norm_bias_(norm_weight_ + model.width),
        attention_(model, position_, norm_bias_ + model.width) {
    constexpr int kWords = sizeof(DecodeLayer) / 4;
    const auto* from = reinterpret_cast<const std::uint32_t*>(model.layers);
    for (int i = static_cast<int>(threadIdx.x); i < model.n_layers * kWords; i += kBlock) {
      reinterpret_cast<std::uint32_t*>(layers_)[i] = from[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) model.exchange[blockIdx.x] = step_;
  }

  __device__ __forceinline__ void run() {
    const bool gated = model_.activation == DecodeActivation::gated_silu;
    const int mixed = model_.heads * model_.size;
    Product<W> qkv = qkv_product(0);
    copy_norm(layers_[0].norm_1);
    embed();
    for (int l = 0; l < model_.n_layers; ++l) {
      const DecodeLayer& layer = layers_[l];
      if (l > 0) read_residual(exchange(l - 1, layout_.last));
      normalize(layer.norm_1.bias != nullptr);
      const Exchange heads = exchange(l, layout_.qkv);
      qkv.run(x_, scratch(), [&](int row, float value, float) { heads.store(row, value); });

      const Exchange splits = exchange(l, layout_.splits);
      attention_.attend(layer, heads, attention_.load_cached(layer), splits);
      Product<W> projection(layer.projection, mixed, model_.width, false);
      __syncthreads();
      attention_.mix(splits, [&](int i, float value) { x_[RowPart<W>::place_of(i)] = value; });
      pad(mixed);
      __syncthreads();
      const Exchange middle = exchange(l, layout_.middle);
      projection.run(x_, scratch(), [&](int row, float value, float) {
        middle.store(row, residual_[row] + value);
      });

      Product<W> in(layer.in, model_.width, model_.hidden, gated);
      copy_norm(layer.norm_2);
      __syncthreads();
      read_residual(middle);
      normalize(layer.norm_2.bias != nullptr);
      const Exchange inner = exchange(l, layout_.inner);
      in.run(x_, scratch(), [&](int row, float value, float up) {
        inner.store(row, gated ? swiglu_of(value, up) : decode_gelu(value));
      });

      Product<W> out(layer.out, model_.hidden, model_.width, false);
      __syncthreads();
      inner.gather(model_.hidden, [&](int i, float value) { x_[RowPart<W>::place_of(i)] = value; });
      pad(model_.hidden);
      __syncthreads();
      const Exchange last = exchange(l, layout_.last);
      out.run(x_, scratch(),
              [&](int row, float value, float) { last.store(row, residual_[row] + value); });
      if (l + 1 == model_.n_layers) break;
      qkv = qkv_product(l + 1);
      copy_norm(layers_[l + 1].norm_1);
      __syncthreads();
    }
    Product<W> head(model_.head, model_.width, model_.n_logits, false);
    copy_norm(model_.last_norm);
    __syncthreads();
    read_residual(exchange(model_.n_layers - 1, layout_.last));
    normalize(model_.last_norm.bias != nullptr);
    head.run(x_, scratch(), [&](int row, float value, float) { model_.logits[row] = value; });
  }

  // Floats of shared memory beyond the layers.
  static int floats(const DecodeModel& model) {
    return padded(longest(model)) + 3 * model.width + TokenAttention<T>::floats(model);
  }

 private:
  __device__ __forceinline__ static float* scratch() {
    __shared__ float memory[2 * kWarps];
    return memory;
  }

  __host__ __device__ __forceinline__ static int longest(const DecodeModel& model) {
    const int mixed = model.heads * model.size;
    const int longer = model.width > model.hidden ? model.width : model.hidden;
    return mixed > longer ? mixed : longer;
  }
  // Up to whole parts of a row.
  __host__ __device__ __forceinline__ static int padded(int count) {
    constexpr int kElements = RowPart<W>::kElements;
    return (count + kElements - 1) / kElements * kElements;
  }
  __device__ __forceinline__ void pad(int count) {
    const int end = padded(count);
    for (int i = count + static_cast<int>(threadIdx.x); i < end; i += kBlock) {
      x_[RowPart<W>::place_of(i)] = 0;
    }
  }

  __device__ __forceinline__ Exchange exchange(int l, int vector) const {
    return Exchange(model_.exchange + kMostBlocks + std::int64_t{l} * layout_.size + vector, step_);
  }

  __device__ __forceinline__ Product<W> qkv_product(int l) const {
    const int rows = (model_.heads + 2 * model_.kv_heads) * model_.size;
    return Product<W>(layers_[l].qkv, model_.width, rows, false);
  }

  // The residual stream starts with the embedding of the token. Each thread owns the elements that
  // Exchange::gather gives it.
  __device__ __forceinline__ void embed() {
    const auto* embedding =
        static_cast<const T*>(model_.embedding) + model_.tokens[position_] * model_.width;
    const auto* positions = static_cast<const T*>(model_.positions);
    for_own([&](int i) {
      float value = static_cast<float>(embedding[i]);
      if (positions != nullptr) {
        value += static_cast<float>(positions[std::int64_t{position_} * model_.width + i]);
      }
      residual_[i] = value;
    });
  }
  __device__ __forceinline__ void read_residual(const Exchange& from) {
    from.gather(model_.width, [&](int i, float value) { residual_[i] = value; });
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

  // x = the normalized residual stream.
  __device__ __forceinline__ void normalize(bool has_bias) {
    const float share = 1.0f / static_cast<float>(model_.width);
    float mean = 0;
    if (model_.norm == DecodeNorm::layer) {
      float sum = 0;
      for_own([&](int i) { sum += residual_[i]; });
      mean = sum_block(sum, scratch()) * share;
    }
    float squares = 0;
    for_own([&](int i) { squares += (residual_[i] - mean) * (residual_[i] - mean); });
    const float scale = rsqrtf(sum_block(squares, scratch() + kWarps) * share + model_.epsilon);
    __pipeline_wait_prior(0);
    for_own([&](int i) {
      const float shift = has_bias ? norm_bias_[i] : 0.0f;
      x_[RowPart<W>::place_of(i)] = (residual_[i] - mean) * scale * norm_weight_[i] + shift;
    });
    pad(model_.width);
    __syncthreads();
  }

  const DecodeModel& model_;
  ExchangeLayout layout_;
  int position_;
  std::uint32_t step_;
  // In shared memory:
  DecodeLayer* layers_;
  float* x_;            // the operand of the next product, in the order of place_of
  float* residual_;     // (width)
  float* norm_weight_;  // (width)
  float* norm_bias_;
  TokenAttention<T> attention_;
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

int attribute(Device device, cudaDeviceAttr which) {
  int value = 0;
  driver::check(cudaDeviceGetAttribute(&value, which, device.index), "device attribute");
  return value;
}

}  // namespace

bool can_decode_model(Device device, const DecodeModel& model) {
  if (model.dtype != DType::bf16 && model.dtype != DType::f32) return false;
  const int n_blocks = attribute(device, cudaDevAttrMultiProcessorCount);
  const int bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
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
           n_blocks <= kMostBlocks && model.heads <= n_blocks && whole(model.width) &&
           whole(model.hidden) && whole(model.heads * model.size) &&
           shared_bytes<T, W>(model) + 1024 <= static_cast<std::size_t>(bytes);
  });
  return fits;
}

std::int64_t decode_exchange_size(const DecodeModel& model) {
  return kMostBlocks + std::int64_t{model.n_layers} * ExchangeLayout(model).size;
}

void decode_model(StreamView stream, const DecodeModel& model) {
  const int n_blocks = attribute(stream.device(), cudaDevAttrMultiProcessorCount);
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
