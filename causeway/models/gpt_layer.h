// One layer of a GPT: causal attention and an MLP, each after a norm and added to the residual
// stream.
#pragma once

#include "causeway/models/gpt_config.h"
#include "causeway/nn/layers.h"

#include <memory>
#include <optional>

namespace causeway::models {

// Layer norm, with or without bias, or RMS norm.
class GptNormLayer : public nn::Module {
 public:
  GptNormLayer(const GptConfig& config, const nn::Placement& placement);

  Tensor forward(const Tensor& x) override;
  // Adds a branch to the residual stream: the sum and its norm.
  autograd::AddNorm add(const Tensor& branch, const Tensor& x);

 private:
  std::optional<Tensor> bias() const;

  GptNorm norm_;
  double epsilon_;
  Tensor& weight_;
  Tensor* bias_;
};

class GptAttention : public nn::Module {
 public:
  GptAttention(const GptConfig& config, const nn::Placement& placement);

  // q, k and v of all heads, (batch, length, (heads + 2 kv_heads) * size). `rotary` is the table of
  // rotary_table(), or null.
  Tensor heads(const Tensor& x, const Tensor* rotary);
  // Causal attention and the projection.
  Tensor mix(const Tensor& heads);
  // The parts of both without a product.
  Tensor rotated(const Tensor& heads, const Tensor* rotary) const;
  Tensor attended(const Tensor& heads) const;

  std::shared_ptr<nn::Linear> qkv;  // rows: q of all heads, then k, then v
  std::shared_ptr<nn::Linear> projection;

 private:
  Tensor grouped(const Tensor& heads) const;

  GptConfig config_;
};

class GptMlp : public nn::Module {
 public:
  GptMlp(const GptConfig& config, const nn::Placement& placement);

  Tensor forward(const Tensor& x) override;
  // The activation of the output of `in`.
  Tensor activated(const Tensor& hidden) const;

  std::shared_ptr<nn::Linear> in;  // with SwiGLU, rows: gates, then values
  std::shared_ptr<nn::Linear> out;

 private:
  GptActivation activation_;
  bool keeps_hidden_;
};

struct GptLayer : nn::Module {
  GptLayer(const GptConfig& config, const nn::Placement& placement);

  std::shared_ptr<GptNormLayer> norm_1;
  std::shared_ptr<GptAttention> attention;
  std::shared_ptr<GptNormLayer> norm_2;
  std::shared_ptr<GptMlp> mlp;
};

}  // namespace causeway::models
