#include "causeway/nn/layers.h"

#include "causeway/autograd/dropout.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::nn {

namespace {

Generator& generator_of(const Placement& placement) {
  return placement.generator != nullptr ? *placement.generator : default_generator();
}

Tensor blank(const Shape& shape, const Placement& placement) {
  return Tensor::empty(shape, placement.dtype, placement.device);
}

// Uniform in +-1 / sqrt(fan_in).
void draw_(const Tensor& values, double fan_in, const Placement& placement) {
  if (!placement.initialize) return;
  const double bound = fan_in > 0 ? 1 / std::sqrt(fan_in) : 0;
  uniform_(values, -bound, bound, generator_of(placement));
}
Tensor drawn(const Shape& shape, double fan_in, const Placement& placement) {
  const Tensor values = blank(shape, placement);
  draw_(values, fan_in, placement);
  return values;
}

Tensor constant(std::int64_t size, double value, const Placement& placement) {
  return full({size}, value, placement.dtype, placement.device);
}

std::optional<Tensor> maybe(const Tensor* x) {
  if (x == nullptr) return std::nullopt;
  return *x;
}

double fan_of(const Shape& filters) {
  return static_cast<double>(filters[1] * filters[2] * filters[3]);
}

// Shape of a convolution's weight.
Shape filters_of(std::int64_t in_channels, std::int64_t out_channels,
                 const std::array<std::int64_t, 2>& window, std::int64_t groups) {
  if (groups < 1 || in_channels % groups != 0 || out_channels % groups != 0) {
    fail(ErrorKind::invalid_argument, "conv2d",
         fmt::format("in_channels {1} and out_channels {2} must be multiples of groups {0}", groups,
                     in_channels, out_channels));
  }
  return {out_channels, in_channels / groups, window[0], window[1]};
}

}  // namespace

Linear::Linear(std::int64_t n_in, std::int64_t n_out, bool with_bias, const Placement& placement)
    : weight(add_parameter("weight", drawn({n_out, n_in}, static_cast<double>(n_in), placement))),
      bias(with_bias ? &add_parameter("bias", drawn({n_out}, static_cast<double>(n_in), placement))
                     : nullptr) {}

Tensor Linear::forward(const Tensor& x) { return autograd::linear(x, weight, maybe(bias)); }

Embedding::Embedding(std::int64_t n_entries, std::int64_t width, const Placement& placement)
    : weight(add_parameter("weight", blank({n_entries, width}, placement))) {
  normal_(autograd::detach(weight), 0, 1, generator_of(placement));
}

Tensor Embedding::forward(const Tensor& index) { return autograd::embedding(weight, index); }

LayerNorm::LayerNorm(std::int64_t n_columns, double eps, const Placement& placement,
                     bool with_weight, bool with_bias)
    : weight(with_weight ? &add_parameter("weight", constant(n_columns, 1, placement)) : nullptr),
      bias(with_bias ? &add_parameter("bias", constant(n_columns, 0, placement)) : nullptr),
      width(n_columns),
      epsilon(eps) {}

Tensor LayerNorm::forward(const Tensor& x) {
  if (x.n_dims() == 0 || x.size(-1) != width) {
    fail(ErrorKind::shape_mismatch, "LayerNorm",
         "shape " + to_string(x.shape()) + ": expected a last axis of " + std::to_string(width));
  }
  return autograd::layer_norm(x, maybe(weight), maybe(bias), epsilon);
}

autograd::AddNorm LayerNorm::add(const Tensor& x, const Tensor& residual) {
  return autograd::add_norm(autograd::NormOp::layer, x, residual, maybe(weight), maybe(bias),
                            epsilon);
}

RmsNorm::RmsNorm(std::int64_t width, double eps, const Placement& placement)
    : weight(add_parameter("weight", constant(width, 1, placement))), epsilon(eps) {}

Tensor RmsNorm::forward(const Tensor& x) { return autograd::rms_norm(x, weight, epsilon); }

autograd::AddNorm RmsNorm::add(const Tensor& x, const Tensor& residual) {
  return autograd::add_norm(autograd::NormOp::rms, x, residual, weight, std::nullopt, epsilon);
}

namespace {

// Running statistics stay in f32 if the layer computes in f16 or bf16.
Placement statistics_of(Placement placement) {
  if (placement.dtype != DType::f64) placement.dtype = DType::f32;
  return placement;
}

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, double moving, double eps, const Placement& placement)
    : weight(add_parameter("weight", constant(channels, 1, placement))),
      bias(add_parameter("bias", constant(channels, 0, placement))),
      running_mean(add_buffer("running_mean", constant(channels, 0, statistics_of(placement)))),
      running_variance(add_buffer("running_var", constant(channels, 1, statistics_of(placement)))),
      momentum(moving),
      epsilon(eps) {}

Tensor BatchNorm::forward(const Tensor& x) {
  return autograd::batch_norm(x, weight, bias,
                              autograd::BatchNormState{running_mean, running_variance}, training(),
                              momentum, epsilon);
}

Dropout::Dropout(double p) : probability(p) {
  if (!(p >= 0 && p <= 1)) {
    fail(ErrorKind::invalid_argument, "dropout",
         fmt::format("probability must be in [0, 1], got {}", p));
  }
}

Tensor Dropout::forward(const Tensor& x) { return autograd::dropout(x, probability, training()); }

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels,
               std::array<std::int64_t, 2> window, const autograd::Convolution& how_,
               bool with_bias, const Placement& placement)
    : how(how_),
      weight(add_parameter(
          "weight", blank(filters_of(in_channels, out_channels, window, how.groups), placement))),
      bias(with_bias ? &add_parameter("bias", blank({out_channels}, placement)) : nullptr) {
  const double fan = fan_of(weight.shape());
  draw_(autograd::detach(weight), fan, placement);
  if (bias != nullptr) draw_(autograd::detach(*bias), fan, placement);
}

Tensor Conv2d::forward(const Tensor& x) { return autograd::conv2d(x, weight, maybe(bias), how); }

Pool2d::Pool2d(const autograd::Pooling& how_) : how(how_) {}
Tensor Pool2d::forward(const Tensor& x) { return autograd::pool2d(x, how); }

Unary::Unary(UnaryOp op_) : op(op_) {}
Tensor Unary::forward(const Tensor& x) { return autograd::unary(op, x); }

Tensor Flatten::forward(const Tensor& x) {
  std::int64_t rest = 1;
  for (int dim = 1; dim < x.n_dims(); ++dim) rest *= x.size(dim);
  return autograd::reshape(x, {x.size(0), rest});
}

Mlp::Mlp(std::int64_t width, std::int64_t hidden, bool bias, const Placement& placement)
    : in(std::make_shared<Linear>(width, hidden, bias, placement)),
      out(std::make_shared<Linear>(hidden, width, bias, placement)) {
  add_module("in", in);
  add_module("out", out);
}

Tensor Mlp::forward(const Tensor& x) {
  return autograd::mlp(x, in->weight, maybe(in->bias), out->weight, maybe(out->bias));
}

Attention::Attention(std::int64_t width, std::int64_t heads, bool is_causal, bool bias,
                     const Placement& placement)
    : n_heads(heads),
      causal(is_causal),
      qkv(std::make_shared<Linear>(width, 3 * width, bias, placement)),
      projection(std::make_shared<Linear>(width, width, bias, placement)) {
  if (heads <= 0 || width % heads != 0) {
    fail(ErrorKind::invalid_argument, "attention",
         fmt::format("width {1} must be a multiple of heads {0}", heads, width));
  }
  add_module("qkv", qkv);
  add_module("projection", projection);
}

Tensor Attention::forward(const Tensor& x) {
  autograd::AttentionOptions options;
  options.causal = causal;
  return projection->forward(autograd::attention_packed(qkv->forward(x), n_heads, options));
}

Tensor Attention::forward_context(const Tensor& x, const Tensor& context) {
  autograd::AttentionOptions options;
  options.causal = causal;
  options.context = context;
  return projection->forward(autograd::attention_packed(qkv->forward(x), n_heads, options));
}

}  // namespace causeway::nn
