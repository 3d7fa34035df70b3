// A decoder-only transformer: GPT-2 (Radford et al. 2019), or a Llama-shaped model by
// configuration.
#pragma once

#include "causeway/models/gpt_layer.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace causeway::models {

class Gpt : public nn::Module {
 public:
  // Weights are drawn as for GPT-2: normal with a deviation of 0.02, divided by sqrt(2 * layers) in
  // the projections that end a branch.
  explicit Gpt(const GptConfig& config, const nn::Placement& placement = {});

  const GptConfig& config() const { return config_; }

  // Tokens are integers (batch, length).
  // The hidden states after the last norm, (batch, length, width).
  Tensor hidden(const Tensor& tokens) { return hidden(tokens, {}); }
  // Also calls `on_heads` with the index of each layer and the q, k and v of all heads.
  using OnHeads = std::function<void(std::size_t layer, const Tensor& heads)>;
  Tensor hidden(const Tensor& tokens, const OnHeads& on_heads);
  // What enters the first layer: token and position embeddings, (batch, length, width).
  Tensor embed(const Tensor& tokens) const;
  // (batch, length, vocabulary).
  Tensor logits(const Tensor& tokens);
  // The mean cross entropy of targets (batch, length), where -100 is ignored. `scale`, one f32 on
  // the device, multiplies the loss. The logits exist only in chunks.
  Tensor loss(const Tensor& tokens, const Tensor& targets,
              const std::optional<Tensor>& scale = std::nullopt);

  // The matrices of the layers, and all other parameters.
  std::vector<Tensor> matrices() const;
  std::vector<Tensor> others() const;

  const std::vector<std::shared_ptr<GptLayer>>& layers() const { return layers_; }
  const Tensor& embedding() const { return embedding_; }  // (padded vocabulary, width)
  const Tensor* positions() const { return positions_; }  // (length, width), or null
  GptNormLayer& last_norm() const { return *last_norm_; }
  // The norm of the residual stream after a layer.
  GptNormLayer& norm_after(std::size_t layer) const;
  const Tensor& head() const { return head_ != nullptr ? *head_ : embedding_; }
  // The table of rotary_table() on the device of the weights, or null.
  const Tensor* rotary();

 private:
  void draw_weights(Generator& generator);
  void check(const Tensor& tokens) const;
  autograd::AddNorm run_layer(std::size_t layer, const autograd::AddNorm& before,
                              const OnHeads& on_heads);

  GptConfig config_;
  Tensor& embedding_;
  Tensor* positions_ = nullptr;
  std::vector<std::shared_ptr<GptLayer>> layers_;
  std::shared_ptr<GptNormLayer> last_norm_;
  Tensor* head_ = nullptr;
  std::optional<Tensor> rotary_;
};

}  // namespace causeway::models
