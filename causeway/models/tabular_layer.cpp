#include "causeway/models/tabular_layer.h"

#include "causeway/autograd/matmul.h"
#include "causeway/autograd/views.h"

#include <fmt/format.h>

namespace causeway::models {

using nn::Linear;
using nn::Placement;

TabularNorm::TabularNorm(std::int64_t width, bool with_mean, const Placement& placement)
    : weight_(add_parameter("weight", ones({width}, placement.dtype, placement.device))),
      bias_(with_mean ? &add_parameter("bias", zeros({width}, placement.dtype, placement.device))
                      : nullptr) {}

Tensor TabularNorm::forward(const Tensor& x) {
  return bias_ != nullptr ? autograd::layer_norm(x, weight_, *bias_)
                          : autograd::rms_norm(x, weight_);
}

Residual TabularNorm::add_residual(const Tensor& branch, const Tensor& x) {
  if (bias_ == nullptr) {
    const auto [sum, normed] = autograd::add_norm(autograd::NormOp::rms, branch, x, weight_);
    return {sum, normed};
  }
  const Tensor normed =
      autograd::add_norm(autograd::NormOp::layer, branch, x, weight_, *bias_).normed;
  return {normed, normed};
}

TabularAttention::TabularAttention(std::int64_t width, std::int64_t n_heads, bool projection,
                                   const Placement& placement)
    : n_heads_(n_heads), qkv_(std::make_shared<Linear>(width, 3 * width, true, placement)) {
  add_module("qkv", qkv_);
  if (!projection) return;
  projection_ = std::make_shared<Linear>(width, width, true, placement);
  add_module("projection", projection_);
}

Tensor TabularAttention::among_columns(const Tensor& tokens, const Tensor& n_columns,
                                       const Tensor* encoder) {
  const Tensor weight =
      encoder == nullptr ? qkv_->weight : autograd::matmul(qkv_->weight, *encoder);
  const std::int64_t width = qkv_->weight.size(1);
  const Shape& s = tokens.shape();
  autograd::AttentionOptions options;
  options.context = n_columns;
  const Tensor heads = autograd::reshape(autograd::linear(tokens, weight, *qkv_->bias),
                                         {s[0] * s[1], s[2], n_heads_, 3, width / n_heads_});
  return autograd::reshape(autograd::attention_by_heads(heads, options), {s[0], s[1], s[2], width});
}

Tensor TabularAttention::project_part(const Tensor& tokens, std::int64_t first,
                                      std::int64_t count) {
  const std::int64_t width = qkv_->weight.size(1);
  const Shape by_part{n_heads_, 3, width / n_heads_, -1};
  const auto cut = [&](const Tensor& of) {
    return autograd::contiguous(
        autograd::slice(autograd::reshape(of, by_part), 1, first, first + count));
  };
  return autograd::linear(tokens, autograd::reshape(cut(qkv_->weight), {count * width, width}),
                          autograd::reshape(cut(*qkv_->bias), {count * width}));
}

Tensor TabularAttention::target_among_columns(const Tensor& tokens, const Tensor& n_columns) {
  const Shape& s = tokens.shape();
  const std::int64_t size = s[3] / n_heads_;
  autograd::AttentionOptions options;
  options.context = n_columns;
  const Tensor target = autograd::contiguous(autograd::slice(tokens, 2, 0, 1));
  const Tensor q = autograd::reshape(project_part(target, 0, 1), {s[0] * s[1], 1, n_heads_, size});
  const Tensor kv =
      autograd::reshape(project_part(tokens, 1, 2), {s[0] * s[1], s[2], n_heads_, 2, size});
  return autograd::reshape(autograd::attention_by_heads(q, kv, options), {s[0], s[1], 1, s[3]});
}

Tensor TabularAttention::project_qkv(const Tensor& tokens) {
  const Shape& s = tokens.shape();
  return autograd::reshape(qkv_->forward(tokens),
                           {s[0], s[1], s[2] * n_heads_, 3, s[3] / n_heads_});
}

Tensor TabularAttention::keys_and_values(const Tensor& tokens) {
  const Shape& s = tokens.shape();
  return autograd::reshape(project_part(tokens, 1, 2),
                           {s[0], s[1], s[2] * n_heads_, 2, s[3] / n_heads_});
}

Tensor TabularAttention::among_rows(const Tensor& heads, const Tensor& n_context) const {
  autograd::AttentionOptions options;
  options.context = n_context;
  const Shape& s = heads.shape();
  return autograd::reshape(autograd::attention_by_heads(heads, options),
                           {s[0], s[1], s[2] / n_heads_, n_heads_ * s[4]});
}

Tensor TabularAttention::among_context(const Tensor& tokens, const Tensor& kept,
                                       const Tensor& n_context) {
  autograd::AttentionOptions options;
  options.context = n_context;
  const Shape& s = tokens.shape();
  const Tensor q =
      autograd::reshape(project_part(tokens, 0, 1), {s[0], s[1], s[2] * n_heads_, s[3] / n_heads_});
  return autograd::reshape(autograd::attention_by_heads(q, kept, options), s);
}

Tensor TabularAttention::project(const Tensor& x) {
  return projection_ == nullptr ? x : projection_->forward(x);
}

TabularLayer::TabularLayer(std::int64_t width, std::int64_t n_heads, std::int64_t hidden,
                           bool projection, bool pre_norm, const Placement& placement)
    : columns(std::make_shared<TabularAttention>(width, n_heads, projection, placement)),
      rows(std::make_shared<TabularAttention>(width, n_heads, projection, placement)),
      mlp(std::make_shared<nn::Mlp>(width, hidden, placement)) {
  add_module("columns", columns);
  add_module("rows", rows);
  add_module("mlp", mlp);
  for (int i = 0; i < 3; ++i) {
    norms.push_back(std::make_shared<TabularNorm>(width, !pre_norm, placement));
    add_module(fmt::format("norm{}", i + 1), norms.back());
  }
}

}  // namespace causeway::models
