// One step of text generation for one sequence on the GPU, in one kernel. Weights are read once;
// blocks stay on their multiprocessors and wait for each other's results between the products.
#pragma once

#include "causeway/kernels/decode/decode.h"

#include <cstdint>
#include <iterator>

namespace causeway::kernels {

// Addresses in device memory; those that are not used are null.
struct DecodeMatrix {
  const void* weight = nullptr;  // (rows, in)
  const float* scales = nullptr;
  const float* bias = nullptr;
};

struct DecodeNormWeights {
  const float* weight = nullptr;
  const float* bias = nullptr;
};

struct DecodeLayer {
  DecodeNormWeights norm_1;
  DecodeMatrix qkv;
  void* keys = nullptr;  // (kv_heads, capacity, size), in the model's dtype
  void* values = nullptr;
  DecodeMatrix projection;
  DecodeNormWeights norm_2;
  DecodeMatrix in;
  DecodeMatrix out;
};

// The largest number of parts into which the positions of a head are divided, and of positions that
// a thread holds at a time.
inline constexpr int kDecodeSplits = 8;
inline constexpr int kDecodeRounds = 4;

struct DecodeModel {
  DType dtype = DType::f32;    // of the embedding and the caches
  DType weights = DType::f32;  // of the matrices: `dtype`, or i8
  DecodeNorm norm = DecodeNorm::layer;
  float epsilon = 1e-5f;
  DecodeActivation activation = DecodeActivation::gelu;
  int n_layers = 0;
  int width = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int size = 0;  // of a head
  int capacity = 0;
  int n_logits = 0;
  const DecodeLayer* layers = nullptr;
  DecodeNormWeights last_norm;
  DecodeMatrix head;
  const void* embedding = nullptr;
  const void* positions = nullptr;
  const float* rotary = nullptr;
  const std::int64_t* tokens = nullptr;  // (capacity)
  const std::int64_t* length = nullptr;  // the position of the token
  // Memory of the step: zeros before the first one, decode_exchange_size(model) words.
  std::uint64_t* exchange = nullptr;
  float* logits = nullptr;  // (n_logits)
  // Null, or (blocks, decode_trace_marks(n_layers)): the clock of each multiprocessor at the
  // beginning and after each part of a step, then two times in ns, of the beginning and the end.
  std::uint64_t* trace = nullptr;
};

// The parts of a layer, in order, and those of the head.
inline constexpr const char* kDecodeLayerParts[] = {
    "qkv: wait",  "qkv: norm",  "qkv: product",    "attention: wait", "attention: scores",
    "mix: wait",  "mix: copy",  "mix: projection", "hidden: wait",    "hidden: norm",
    "hidden: up", "down: wait", "down: copy",      "down: product",
};
inline constexpr const char* kDecodeHeadParts[] = {"head: wait", "head: norm", "head: product"};
inline constexpr int kDecodePartsPerLayer = static_cast<int>(std::size(kDecodeLayerParts));

constexpr int decode_trace_marks(int n_layers) {
  return 1 + n_layers * kDecodePartsPerLayer + static_cast<int>(std::size(kDecodeHeadParts)) + 2;
}

namespace cuda {

// The number of blocks of decode_model.
int decode_blocks(Device device);

// Whether decode_model takes models of this shape.
bool can_decode_model(Device device, const DecodeModel& model);

// The words of 64 bits through which the blocks exchange vectors.
std::int64_t decode_exchange_size(const DecodeModel& model);

// Computes model.logits of the token at model.length, and writes its keys and values to the caches.
void decode_model(StreamView stream, const DecodeModel& model);

}  // namespace cuda

}  // namespace causeway::kernels
