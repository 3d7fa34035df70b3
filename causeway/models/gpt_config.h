// The configuration of a GPT: GPT-2 by default; norm, positions, activation, key-value heads and
// biases can be set as in Llama.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/runtime/device.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::models {

enum class GptNorm : std::uint8_t { layer, rms };
enum class GptPositions : std::uint8_t { learned, rotary };
enum class GptActivation : std::uint8_t { gelu, swiglu };
// What the backward pass computes again instead of reading it from memory.
enum class Recompute : std::uint8_t {
  none,
  mlp,     // the hidden activations of the MLPs
  layers,  // everything inside a layer
};

struct GptConfig {
  std::int64_t vocabulary = 50257;
  std::int64_t length = 1024;  // longest sequence
  std::int64_t width = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 0;  // of keys and values, shared by groups of heads; 0: as many as heads
  std::int64_t hidden = 0;    // of the MLP; 0: 4 * width
  GptNorm norm = GptNorm::layer;
  GptPositions positions = GptPositions::learned;
  GptActivation activation = GptActivation::gelu;
  bool bias = true;       // in linear layers and layer norms
  bool tied_head = true;  // the head's weight is the token embedding
  double epsilon = 1e-5;  // of the norms
  double rotary_base = 10000;
  Recompute recompute = Recompute::none;

  std::int64_t head_size() const { return width / heads; }
  std::int64_t n_kv_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  std::int64_t n_hidden() const { return hidden > 0 ? hidden : 4 * width; }
  // Rows of the token embedding: the vocabulary rounded up to a multiple of 64, since products of
  // such matrices are faster. The additional rows are never read.
  std::int64_t padded_vocabulary() const { return (vocabulary + 63) / 64 * 64; }

  std::int64_t n_parameters() const;  // without padding
  // Floating-point operations of a training step: matrix products and causal attention, forward
  // and twice that for backward.
  double step_flops(std::int64_t sequences, std::int64_t tokens) const;
  // Bytes of the parameters, with padding.
  std::size_t weight_bytes(DType dtype) const;
  // Peak bytes of the forward and backward pass of so many sequences, gradients included, besides
  // the weights: an upper bound. `device` chooses the size of the logits that exist at once.
  std::size_t step_bytes(std::int64_t sequences, std::int64_t tokens, DType dtype,
                         Device device) const;

  // Throws invalid_argument.
  void check() const;
  // "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "llama-tiny" (a Llama-shaped model of 15M
  // parameters) or "bytes" (1M parameters and a vocabulary of bytes).
  static GptConfig preset(std::string_view name);
  std::string to_json() const;
  static GptConfig from_json(std::string_view text);
};

const ConfigDescription<GptConfig>& describe_gpt();

}  // namespace causeway::models
