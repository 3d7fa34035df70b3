#include "causeway/models/gpt_int8.h"

#include "causeway/core/error.h"
#include "causeway/kernels/int8/int8.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway::models {

namespace {

GptInt8::Matrix rounded(const Tensor& weight, const Tensor* bias) {
  GptInt8::Matrix made{quantize_rows(autograd::detach(weight)), {}};
  if (bias != nullptr) made.bias = autograd::detach(*bias).to(DType::f32);
  return made;
}

GptInt8::Matrix rounded(const nn::Linear& linear) { return rounded(linear.weight, linear.bias); }

Tensor multiply(const Tensor& x, const GptInt8::Matrix& by) {
  return int8_linear(x, by.weight, by.bias);
}

}  // namespace

GptInt8::GptInt8(Gpt& model) : model_(model) {
  const std::int64_t longest = std::max(model.config().width, model.config().n_hidden());
  if (longest > kernels::kMaxInt8Columns) {
    fail(ErrorKind::invalid_argument, "int8",
         fmt::format("the model has matrices of {} columns; expected up to {}", longest,
                     kernels::kMaxInt8Columns));
  }
  for (const auto& layer : model.layers()) {
    layers_.push_back({rounded(*layer->attention->qkv), rounded(*layer->attention->projection),
                       rounded(*layer->mlp->in), rounded(*layer->mlp->out)});
  }
  head_ = rounded(model.head(), nullptr);
}

Tensor GptInt8::hidden(const Tensor& tokens, const Gpt::OnHeads& on_heads) const {
  const autograd::NoGrad no_grad;
  autograd::AddNorm state;
  state.sum = model_.embed(tokens);
  state.normed = model_.layers()[0]->norm_1->forward(state.sum);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& by = layers_[i];
    GptLayer& part = *model_.layers()[i];
    const Tensor heads = part.attention->rotated(multiply(state.normed, by.qkv), model_.rotary());
    if (on_heads) on_heads(i, heads);
    const Tensor mixed = multiply(part.attention->attended(heads), by.projection);
    const autograd::AddNorm middle = part.norm_2->add(mixed, state.sum);
    const Tensor hidden = part.mlp->activated(multiply(middle.normed, by.in));
    state = model_.norm_after(i).add(multiply(hidden, by.out), middle.sum);
  }
  return state.normed;
}

Tensor GptInt8::logits(const Tensor& tokens) const {
  return multiply(hidden(tokens), head_).slice(2, 0, model_.config().vocabulary);
}

bool GptInt8::takes(std::int64_t n_tokens) const {
  const Layer& layer = layers_[0];
  return std::ranges::all_of(
      std::initializer_list<const Matrix*>{&layer.qkv, &layer.projection, &layer.in, &layer.out},
      [&](const Matrix* matrix) {
        const Tensor& weight = matrix->weight.values;
        return kernels::takes_int8_linear(weight.device(), n_tokens, weight.size(0),
                                          weight.size(1));
      });
}

}  // namespace causeway::models
