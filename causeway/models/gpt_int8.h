// A GPT with matrices of 8 bits, for inference.
#pragma once

#include "causeway/models/gpt.h"
#include "causeway/models/quantize.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace causeway::models {

class GptInt8 {
 public:
  // Rounds the matrices of the model, which must outlive this; later changes of its weights are not
  // seen. Throws invalid_argument for matrices whose sums of products may exceed 32 bits.
  explicit GptInt8(Gpt& model);

  struct Matrix {
    QuantizedMatrix weight;
    std::optional<Tensor> bias;  // f32
  };
  struct Layer {
    Matrix qkv, projection, in, out;
  };
  const std::vector<Layer>& layers() const { return layers_; }
  const Matrix& head() const { return head_; }

  // Gpt::hidden() and Gpt::logits() with these matrices, and activations rounded to 8 bits with one
  // scale per token. No gradients.
  Tensor hidden(const Tensor& tokens, const Gpt::OnHeads& on_heads = {}) const;
  Tensor logits(const Tensor& tokens) const;
  // Whether the device has these products for so many tokens.
  bool takes(std::int64_t n_tokens) const;

 private:
  Gpt& model_;
  std::vector<Layer> layers_;
  Matrix head_;
};

}  // namespace causeway::models
