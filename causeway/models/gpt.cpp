#include "causeway/models/gpt.h"

#include "causeway/autograd/checkpoint.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/linear_cross_entropy.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/rotary.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/operand.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::models {

namespace {

using autograd::AddNorm;
using nn::Placement;

constexpr double kDeviation = 0.02;

Tensor blank(const Shape& shape, const Placement& placement) {
  return Tensor::empty(shape, placement.dtype, placement.device);
}

// Normal values in the rows of the vocabulary, zeros in the padding.
void init_embedding(const Tensor& values, std::int64_t vocabulary, Generator& generator) {
  nn::fill_(values, 0);
  nn::normal_(values.slice(0, 0, vocabulary), 0, kDeviation, generator);
}

void init_linear(const nn::Linear& layer, double deviation, Generator& generator) {
  nn::normal_(autograd::detach(layer.weight), 0, deviation, generator);
  if (layer.bias != nullptr) nn::fill_(autograd::detach(*layer.bias), 0);
}

}  // namespace

Gpt::Gpt(const GptConfig& config, const Placement& placement)
    : config_((config.check(), config)),
      embedding_(add_parameter("embedding",
                               blank({config.padded_vocabulary(), config.width}, placement))) {
  if (config.positions == GptPositions::learned) {
    positions_ = &add_parameter("positions", blank({config.length, config.width}, placement));
  }
  Placement undrawn = placement;
  undrawn.initialize = false;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(std::make_shared<GptLayer>(config, undrawn));
    add_module(fmt::format("layers.{}", i), layers_.back());
  }
  last_norm_ = std::make_shared<GptNormLayer>(config, placement);
  add_module("norm", last_norm_);
  if (!config.tied_head) {
    head_ = &add_parameter("head", blank({config.padded_vocabulary(), config.width}, placement));
  }
  if (!placement.initialize) return;
  draw_weights(placement.generator != nullptr ? *placement.generator : nn::default_generator());
}

void Gpt::draw_weights(Generator& generator) {
  init_embedding(autograd::detach(embedding_), config_.vocabulary, generator);
  if (positions_ != nullptr) {
    nn::normal_(autograd::detach(*positions_), 0, kDeviation, generator);
  }
  const double at_end = kDeviation / std::sqrt(2.0 * static_cast<double>(config_.layers));
  for (const auto& layer : layers_) {
    init_linear(*layer->attention->qkv, kDeviation, generator);
    init_linear(*layer->attention->projection, at_end, generator);
    init_linear(*layer->mlp->in, kDeviation, generator);
    init_linear(*layer->mlp->out, at_end, generator);
  }
  if (head_ != nullptr) init_embedding(autograd::detach(*head_), config_.vocabulary, generator);
}

void Gpt::check(const Tensor& tokens) const {
  if (tokens.n_dims() != 2 || !is_integer(tokens.dtype())) {
    fail(ErrorKind::shape_mismatch, "gpt",
         fmt::format("tokens {} of {}: expected integers (batch, length)",
                     to_string(tokens.shape()), to_string(tokens.dtype())));
  }
  if (tokens.size(1) > config_.length) {
    fail(ErrorKind::shape_mismatch, "gpt",
         fmt::format("a sequence of {} tokens; the model's length is {}", tokens.size(1),
                     config_.length));
  }
  require_same_device("gpt", tokens, embedding_);
}

Tensor Gpt::embed(const Tensor& tokens) const {
  check(tokens);
  const Tensor x = autograd::embedding(embedding_, tokens);
  if (positions_ == nullptr) return x;
  return autograd::add(x, autograd::slice(*positions_, 0, 0, tokens.size(1)));
}

GptNormLayer& Gpt::norm_after(std::size_t layer) const {
  return layer + 1 < layers_.size() ? *layers_[layer + 1]->norm_1 : *last_norm_;
}

// `before` holds the residual stream and its norm; returns both after the layer.
AddNorm Gpt::run_layer(std::size_t layer, const AddNorm& before, const OnHeads& on_heads) {
  GptLayer& part = *layers_[layer];
  const Tensor heads = part.attention->heads(before.normed, rotary());
  if (on_heads) on_heads(layer, heads);
  const AddNorm middle = part.norm_2->add(part.attention->mix(heads), before.sum);
  return norm_after(layer).add(part.mlp->forward(middle.normed), middle.sum);
}

const Tensor* Gpt::rotary() {
  if (config_.positions != GptPositions::rotary) return nullptr;
  if (!rotary_.has_value() || rotary_->device() != embedding_.device()) {
    rotary_ = autograd::rotary_table(config_.length, config_.head_size(), config_.rotary_base,
                                     embedding_.device());
  }
  return &*rotary_;
}

Tensor Gpt::hidden(const Tensor& tokens, const OnHeads& on_heads) {
  AddNorm state;
  state.sum = embed(tokens);
  state.normed = layers_[0]->norm_1->forward(state.sum);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (config_.recompute != Recompute::layers || on_heads) {
      state = run_layer(i, state, on_heads);
      continue;
    }
    const auto results = autograd::checkpoint(
        [this, i](const std::vector<Tensor>& inputs) {
          const AddNorm after = run_layer(i, {inputs[0], inputs[1]}, {});
          return std::vector{after.sum, after.normed};
        },
        {state.sum, state.normed});
    state = {results[0], results[1]};
  }
  return state.normed;
}

Tensor Gpt::logits(const Tensor& tokens) {
  const Tensor all = autograd::linear(hidden(tokens), head());
  return autograd::slice(all, 2, 0, config_.vocabulary);
}

Tensor Gpt::loss(const Tensor& tokens, const Tensor& targets, const std::optional<Tensor>& scale) {
  autograd::LinearCrossEntropyOptions options;
  options.n_classes = config_.vocabulary;
  options.scale = scale;
  return autograd::linear_cross_entropy(hidden(tokens), head(), targets, options);
}

std::vector<Tensor> Gpt::matrices() const {
  std::vector<Tensor> found;
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.n_dims() == 2 && name.starts_with("layers.")) found.push_back(parameter);
  }
  return found;
}

std::vector<Tensor> Gpt::others() const {
  std::vector<Tensor> found;
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.n_dims() != 2 || !name.starts_with("layers.")) found.push_back(parameter);
  }
  return found;
}

}  // namespace causeway::models
