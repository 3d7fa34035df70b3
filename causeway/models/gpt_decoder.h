// Text generation: continues prompts token by token with a key-value cache. On a GPU steps,
// including the draw of the tokens, are CUDA graphs.
#pragma once

#include "causeway/kernels/decode/decode_model.h"
#include "causeway/models/gpt_int8.h"
#include "causeway/runtime/graph.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace causeway::models {

inline constexpr const char* kGenerate = "generate";  // in messages

struct GenerateOptions {
  std::int64_t tokens = 100;  // new tokens per sequence, at most
  double temperature = 1;     // 0: always the most probable token
  std::int64_t top_k = 0;     // draws from the k most probable tokens; 0: all
  double top_p = 1;           // draws from the most probable tokens whose probabilities sum to this
  double min_p = 0;           // leaves out tokens below this times the largest probability
  std::uint64_t seed = 0;

  // Throws invalid_argument.
  void check() const;
};

class GptDecoder {
 public:
  // For `batch` sequences of up to `capacity` tokens, prompts included; 0: the model's length. The
  // model must outlive this, and its weights must not change. `int8` is null, or has the model's
  // matrices in 8 bits, which are used for one sequence: with activations of 8 bits for the prompt,
  // of at least 16 bits for steps.
  GptDecoder(Gpt& model, std::int64_t batch, std::int64_t capacity = 0,
             std::shared_ptr<const GptInt8> int8 = nullptr);

  using Tokens = std::vector<std::int64_t>;
  // Receives the new tokens of a sequence, several at a time; returns false to end the sequence.
  using OnTokens = std::function<bool(std::size_t sequence, std::span<const std::int64_t> tokens)>;

  // Continues `batch` prompts of one token or more and returns the new tokens of each. A sequence
  // ends after options.tokens, when it is full, or when `on_tokens` returns false. Sequence i of a
  // seed is the same for any batch, except for rounding. A GPU computes a few steps more while
  // `on_tokens` runs; the next call with the same options uses the same graph.
  std::vector<Tokens> generate(const std::vector<Tokens>& prompts, const GenerateOptions& options,
                               const OnTokens& on_tokens = {});

  // The step of one sequence on a GPU, whose trace may be set; null if matrix products are used.
  kernels::DecodeModel* fused() { return fused_.has_value() ? &*fused_ : nullptr; }

 private:
  // What a captured step depends on, besides the weights.
  struct GraphKey {
    kernels::SampleTokens how;
    const std::uint64_t* trace = nullptr;
    std::optional<DType> autocast;
    bool allow_tf32 = false;

    bool operator==(const GraphKey&) const = default;
  };
  // A matrix as it is multiplied: in the model's dtype, or i8 with scales of its rows.
  struct Matrix {
    Tensor weight;
    std::optional<Tensor> scales;
    std::optional<Tensor> bias;  // f32
  };
  struct Norm {  // f32
    std::optional<Tensor> weight;
    std::optional<Tensor> bias;
  };
  struct Layer {
    Norm norm_1, norm_2;
    Matrix qkv, projection, in, out;
    Tensor keys, values;  // (batch, kv_heads, capacity, size)
  };

  void add_layers();
  static Matrix matrix_of(const Tensor& weight, const Tensor* bias);
  static Matrix matrix_of(const nn::Linear& linear);
  static Matrix matrix_of(const GptInt8::Matrix& matrix);
  static Norm norm_of(const GptNormLayer& layer);
  void start(const std::vector<Tokens>& prompts);
  void fill_cache(const Tensor& tokens);
  // Returns the logits.
  Tensor step(const kernels::SampleTokens& how);
  // Queues at least one and up to `most` steps; returns how many.
  std::int64_t queue_steps(const kernels::SampleTokens& how, std::int64_t most);
  // The logits of a step. One sequence: one kernel on a GPU that takes the model's shape, products
  // of matrices and vectors on a CPU. Else matrix products.
  Tensor decode_logits();
  Tensor decode_fused();
  Tensor decode_vectors();
  Tensor decode_matrices();
  void prepare_fused();
  kernels::DecodeNorm norm_kind() const;
  kernels::DecodeActivation activation_kind() const;
  void multiply(kernels::DecodeLinear how, const Norm* norm, const Matrix& matrix, const Tensor& x,
                const Tensor& y);
  void attend(const Layer& layer, const Tensor& heads, const Tensor& mixed);
  Tensor embedded();

  Gpt& model_;
  GptConfig config_;
  Device device_;
  std::int64_t batch_;
  std::int64_t capacity_;
  std::shared_ptr<const GptInt8> int8_;  // null for several sequences
  std::vector<Layer> layers_;
  Matrix head_;
  Norm last_norm_;
  Tensor tokens_;   // (batch, capacity) i64
  Tensor lengths_;  // (batch) i64: the position of each sequence's last token
  Tensor x_;        // one row per sequence: the residual stream, or its beginning
  // f32, for one sequence.
  Tensor heads_;
  Tensor mixed_;
  Tensor hidden_;
  Tensor logits_;
  std::optional<kernels::DecodeModel> fused_;
  Tensor layer_table_;  // of fused_, as bytes
  Tensor exchange_;     // i64: what the blocks of fused_ exchange
  std::optional<Graph> graph_;
  GraphKey graph_key_;
};

}  // namespace causeway::models
