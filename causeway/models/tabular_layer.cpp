#include "causeway/models/tabular_layer.h"

#include "causeway/models/kernels/scaled_queries.h"
#include "causeway/models/tabular.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/views.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"

#include <fmt/format.h>

namespace causeway::models {

using nn::Linear;
using nn::Placement;

namespace {

std::optional<Tensor> bias_of(const Linear& map) {
  if (map.bias == nullptr) return std::nullopt;
  return *map.bias;
}

}  // namespace

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

QueryScale::QueryScale(std::int64_t n_heads, const Placement& placement)
    : slope_(add_parameter("slope", zeros({n_heads}, placement.dtype, placement.device))),
      offset_(add_parameter("offset", ones({n_heads}, placement.dtype, placement.device))) {}

Tensor QueryScale::apply(const Tensor& packed, const Tensor& n_keys) const {
  const Tensor scaled = autograd::detach(packed);
  const StreamView stream = current_stream(scaled.device());
  kernels::scale_queries(stream, operand(scaled, stream), operand(slope_, stream),
                         operand(offset_, stream), operand(n_keys, stream));
  return autograd::record(
      "scale_queries", scaled, {&packed, &slope_, &offset_}, {&scaled, &slope_, &offset_, &n_keys},
      [scaled, slope = autograd::detach(slope_), offset = autograd::detach(offset_),
       n_keys](autograd::Backward& pass) {
        const DType wide = scaled.dtype() == DType::f64 ? DType::f64 : DType::f32;
        const Tensor gradient = pass.gradient().contiguous();
        const Tensor sums = Tensor::empty({scaled.size(0), kernels::kScaleSums, slope.size(0)},
                                          wide, scaled.device());
        const StreamView here = current_stream(scaled.device());
        kernels::scale_queries_gradient(here, operand(scaled, here), operand(slope, here),
                                        operand(offset, here), operand(n_keys, here),
                                        operand(gradient, here), operand(sums, here));
        pass.accumulate(0, gradient);
        const Tensor of_scale = sum(sums, {1});  // (tables, heads)
        const Tensor keys = binary(BinaryOp::maximum, n_keys, Scalar(1)).to(wide);
        pass.accumulate(1, sum(of_scale * log(keys).reshape({-1, 1}), {0}));
        pass.accumulate(2, sum(of_scale, {0}));
      });
}

TabularAttention::TabularAttention(const TabularConfig& config, bool scaled,
                                   const Placement& placement)
    : n_heads_(config.heads),
      qkv_(std::make_shared<Linear>(config.width, 3 * config.width, config.biases, placement)) {
  add_module("qkv", qkv_);
  if (config.projection) {
    projection_ = std::make_shared<Linear>(config.width, config.width, config.biases, placement);
    add_module("projection", projection_);
  }
  if (scaled) {
    scale_ = std::make_shared<QueryScale>(config.heads, placement);
    add_module("scale", scale_);
  }
}

Tensor TabularAttention::among_columns(const Tensor& tokens, const Tensor& n_columns,
                                       const Tensor* encoder) {
  const Tensor weight =
      encoder == nullptr ? qkv_->weight : autograd::matmul(qkv_->weight, *encoder);
  const std::int64_t width = qkv_->weight.size(1);
  const Shape& s = tokens.shape();
  autograd::AttentionOptions options;
  options.context = n_columns;
  const Tensor heads = autograd::reshape(autograd::linear(tokens, weight, bias_of(*qkv_)),
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
  std::optional<Tensor> bias;
  if (qkv_->bias != nullptr) bias = autograd::reshape(cut(*qkv_->bias), {count * width});
  return autograd::linear(tokens, autograd::reshape(cut(qkv_->weight), {count * width, width}),
                          bias);
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

Tensor TabularAttention::project_qkv(const Tensor& tokens, const Tensor& n_context) {
  const Shape& s = tokens.shape();
  const Tensor packed =
      autograd::reshape(qkv_->forward(tokens), {s[0], s[1], s[2] * n_heads_, 3, s[3] / n_heads_});
  return scale_ == nullptr ? packed : scale_->apply(packed, n_context);
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
  const Shape by_head{s[0], s[1], s[2] * n_heads_, s[3] / n_heads_};
  Tensor q = project_part(tokens, 0, 1);
  if (scale_ != nullptr) {
    q = scale_->apply(autograd::reshape(q, {s[0], s[1], s[2] * n_heads_, 1, s[3] / n_heads_}),
                      n_context);
  }
  q = autograd::reshape(q, by_head);
  return autograd::reshape(autograd::attention_by_heads(q, kept, options), s);
}

Tensor TabularAttention::project(const Tensor& x) {
  return projection_ == nullptr ? x : projection_->forward(x);
}

TabularLayer::TabularLayer(const TabularConfig& config, const Placement& placement)
    : columns(std::make_shared<TabularAttention>(config, false, placement)),
      rows(std::make_shared<TabularAttention>(config, config.scaled_softmax, placement)),
      mlp(std::make_shared<nn::Mlp>(config.width, config.hidden, config.biases, placement)) {
  add_module("columns", columns);
  add_module("rows", rows);
  add_module("mlp", mlp);
  for (int i = 0; i < 3; ++i) {
    norms.push_back(std::make_shared<TabularNorm>(config.width, !config.pre_norm, placement));
    add_module(fmt::format("norm{}", i + 1), norms.back());
  }
}

}  // namespace causeway::models
