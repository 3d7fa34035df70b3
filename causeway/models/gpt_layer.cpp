#include "causeway/models/gpt_layer.h"

#include "causeway/autograd/matmul.h"
#include "causeway/autograd/rotary.h"
#include "causeway/autograd/views.h"

namespace causeway::models {

using nn::Linear;
using nn::Placement;

GptNormLayer::GptNormLayer(const GptConfig& config, const Placement& placement)
    : norm_(config.norm),
      epsilon_(config.epsilon),
      weight_(add_parameter("weight", ones({config.width}, placement.dtype, placement.device))),
      bias_(config.norm == GptNorm::layer && config.bias
                ? &add_parameter("bias", zeros({config.width}, placement.dtype, placement.device))
                : nullptr) {}

std::optional<Tensor> GptNormLayer::bias() const {
  if (bias_ == nullptr) return std::nullopt;
  return *bias_;
}

Tensor GptNormLayer::forward(const Tensor& x) {
  return norm_ == GptNorm::layer ? autograd::layer_norm(x, weight_, bias(), epsilon_)
                                 : autograd::rms_norm(x, weight_, epsilon_);
}

autograd::AddNorm GptNormLayer::add(const Tensor& branch, const Tensor& x) {
  const auto op = norm_ == GptNorm::layer ? autograd::NormOp::layer : autograd::NormOp::rms;
  return autograd::add_norm(op, branch, x, weight_, bias(), epsilon_);
}

GptAttention::GptAttention(const GptConfig& config, const Placement& placement) : config_(config) {
  const std::int64_t n_heads = config.heads + 2 * config.n_kv_heads();
  qkv =
      std::make_shared<Linear>(config.width, n_heads * config.head_size(), config.bias, placement);
  projection = std::make_shared<Linear>(config.width, config.width, config.bias, placement);
  add_module("qkv", qkv);
  add_module("projection", projection);
}

Tensor GptAttention::heads(const Tensor& x, const Tensor* rotary) {
  return rotated(qkv->forward(x), rotary);
}

Tensor GptAttention::rotated(const Tensor& heads, const Tensor* rotary) const {
  if (rotary == nullptr) return heads;
  const std::int64_t n_kv = config_.n_kv_heads();
  const Shape split{heads.size(0), heads.size(1), config_.heads + 2 * n_kv, config_.head_size()};
  return autograd::reshape(
      autograd::rotary(autograd::reshape(heads, split), *rotary, config_.heads + n_kv),
      heads.shape());
}

Tensor GptAttention::attended(const Tensor& heads) const {
  autograd::AttentionOptions options;
  options.causal = true;
  return config_.n_kv_heads() == config_.heads
             ? autograd::attention_packed(heads, config_.heads, options)
             : grouped(heads);
}

Tensor GptAttention::mix(const Tensor& heads) { return projection->forward(attended(heads)); }

// Keys and values are repeated for the heads of their group.
Tensor GptAttention::grouped(const Tensor& heads) const {
  const std::int64_t batch = heads.size(0);
  const std::int64_t length = heads.size(1);
  const std::int64_t n_kv = config_.n_kv_heads();
  const std::int64_t size = config_.head_size();
  const Tensor split = autograd::reshape(heads, {batch, length, config_.heads + 2 * n_kv, size});
  const auto repeated = [&](std::int64_t first) {
    const Tensor part = autograd::unsqueeze(autograd::slice(split, 2, first, first + n_kv), 3);
    const Tensor all = autograd::expand(part, {batch, length, n_kv, config_.heads / n_kv, size});
    return autograd::transpose(autograd::reshape(all, {batch, length, config_.heads, size}), 1, 2);
  };
  autograd::AttentionOptions options;
  options.causal = true;
  const Tensor q = autograd::transpose(autograd::slice(split, 2, 0, config_.heads), 1, 2);
  const Tensor mixed =
      autograd::attention(q, repeated(config_.heads), repeated(config_.heads + n_kv), options);
  return autograd::reshape(autograd::transpose(mixed, 1, 2), {batch, length, config_.width});
}

GptMlp::GptMlp(const GptConfig& config, const Placement& placement)
    : activation_(config.activation), keeps_hidden_(config.recompute != Recompute::mlp) {
  const std::int64_t hidden = config.n_hidden();
  const std::int64_t n_in = activation_ == GptActivation::swiglu ? 2 * hidden : hidden;
  in = std::make_shared<Linear>(config.width, n_in, config.bias, placement);
  out = std::make_shared<Linear>(hidden, config.width, config.bias, placement);
  add_module("in", in);
  add_module("out", out);
}

Tensor GptMlp::forward(const Tensor& x) {
  if (activation_ == GptActivation::gelu && in->bias != nullptr) {
    return autograd::mlp(x, in->weight, *in->bias, out->weight, *out->bias, keeps_hidden_);
  }
  return out->forward(activated(in->forward(x)));
}

Tensor GptMlp::activated(const Tensor& hidden) const {
  return activation_ == GptActivation::swiglu ? autograd::swiglu(hidden)
                                              : autograd::unary(UnaryOp::gelu_tanh, hidden);
}

GptLayer::GptLayer(const GptConfig& config, const Placement& placement)
    : norm_1(std::make_shared<GptNormLayer>(config, placement)),
      attention(std::make_shared<GptAttention>(config, placement)),
      norm_2(std::make_shared<GptNormLayer>(config, placement)),
      mlp(std::make_shared<GptMlp>(config, placement)) {
  add_module("norm_1", norm_1);
  add_module("attention", attention);
  add_module("norm_2", norm_2);
  add_module("mlp", mlp);
}

}  // namespace causeway::models
