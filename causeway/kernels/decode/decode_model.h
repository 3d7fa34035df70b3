// One step of text generation for one sequence on the GPU, in one kernel. Weights are read once;
// blocks stay on their multiprocessors and wait for each other's results between the products.
#pragma once

#include "causeway/kernels/decode/decode.h"

#include <cstdint>

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
};

// The largest number of parts into which the positions of a head are divided.
inline constexpr int kDecodeSplits = 8;

namespace cuda {

// Whether decode_model takes models of this shape.
bool can_decode_model(Device device, const DecodeModel& model);

// The words of 64 bits through which the blocks exchange vectors.
std::int64_t decode_exchange_size(const DecodeModel& model);

// Computes model.logits of the token at model.length, and writes its keys and values to the caches.
void decode_model(StreamView stream, const DecodeModel& model);

}  // namespace cuda

}  // namespace causeway::kernels
