#include "causeway/models/gpt_decoder.h"

#include "causeway/autograd/matmul.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::models {

namespace {

kernels::Operand operand_or_none(const std::optional<Tensor>& tensor, StreamView stream) {
  return tensor.has_value() ? operand(*tensor, stream) : kernels::Operand();
}

}  // namespace

GptDecoder::GptDecoder(Gpt& model, std::int64_t batch, std::int64_t capacity,
                       std::shared_ptr<const GptInt8> int8)
    : model_(model),
      config_(model.config()),
      device_(model.embedding().device()),
      batch_(batch),
      capacity_(capacity > 0 ? capacity : config_.length),
      int8_(batch == 1 ? std::move(int8) : nullptr) {
  if (batch < 1 || capacity_ > config_.length) {
    fail(ErrorKind::invalid_argument, kGenerate,
         fmt::format("{} sequences of {} tokens; expected 1 or more, of up to {} tokens", batch,
                     capacity_, config_.length));
  }
  add_layers();
  last_norm_ = norm_of(model.last_norm());
  tokens_ = zeros({batch, capacity_}, DType::i64, device_);
  lengths_ = zeros({batch}, DType::i64, device_);
  const auto rows = [&](std::int64_t n) { return Tensor::empty({batch, n}, DType::f32, device_); };
  const bool uses_vectors = batch == 1 && device_.is_cpu();
  x_ = Tensor::empty({batch, config_.width}, uses_vectors ? DType::f32 : model.embedding().dtype(),
                     device_);
  if (batch > 1) return;
  heads_ = rows(layers_[0].qkv.weight.size(0));
  mixed_ = rows(config_.width);
  hidden_ = rows(config_.n_hidden());
  logits_ = rows(head_.weight.size(0));
  if (device_.is_cuda()) prepare_fused();
}

void GptDecoder::add_layers() {
  const DType dtype = model_.embedding().dtype();
  const Shape cache{batch_, config_.n_kv_heads(), capacity_, config_.head_size()};
  for (std::size_t i = 0; i < model_.layers().size(); ++i) {
    const GptLayer& part = *model_.layers()[i];
    Layer layer;
    if (int8_ != nullptr) {
      const GptInt8::Layer& rounded = int8_->layers()[i];
      layer.qkv = matrix_of(rounded.qkv);
      layer.projection = matrix_of(rounded.projection);
      layer.in = matrix_of(rounded.in);
      layer.out = matrix_of(rounded.out);
    } else {
      layer.qkv = matrix_of(*part.attention->qkv);
      layer.projection = matrix_of(*part.attention->projection);
      layer.in = matrix_of(*part.mlp->in);
      layer.out = matrix_of(*part.mlp->out);
    }
    layer.norm_1 = norm_of(*part.norm_1);
    layer.norm_2 = norm_of(*part.norm_2);
    layer.keys = zeros(cache, dtype, device_);
    layer.values = zeros(cache, dtype, device_);
    layers_.push_back(std::move(layer));
  }
  head_ = int8_ != nullptr ? matrix_of(int8_->head()) : matrix_of(model_.head(), nullptr);
}

void GptDecoder::prepare_fused() {
  const auto address = [](const auto& tensor) {
    return tensor.has_value() ? reinterpret_cast<const float*>(tensor->data()) : nullptr;
  };
  const auto matrix = [&](const Matrix& from) {
    return kernels::DecodeMatrix{from.weight.data(), address(from.scales), address(from.bias)};
  };
  const auto norm = [&](const Norm& from) {
    return kernels::DecodeNormWeights{address(from.weight), address(from.bias)};
  };
  const auto floats = [](const Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); };
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  kernels::DecodeModel fused;
  fused.dtype = model_.embedding().dtype();
  fused.weights = head_.weight.dtype();
  fused.norm = norm_kind();
  fused.epsilon = static_cast<float>(config_.epsilon);
  fused.activation = activation_kind();
  fused.n_layers = size(config_.layers);
  fused.width = size(config_.width);
  fused.hidden = size(config_.n_hidden());
  fused.heads = size(config_.heads);
  fused.kv_heads = size(config_.n_kv_heads());
  fused.size = size(config_.head_size());
  fused.capacity = size(capacity_);
  fused.n_logits = size(head_.weight.size(0));
  if (!kernels::cuda::can_decode_model(device_, fused)) return;
  std::vector<kernels::DecodeLayer> table;
  for (const Layer& layer : layers_) {
    table.push_back({norm(layer.norm_1), matrix(layer.qkv), layer.keys.data(), layer.values.data(),
                     matrix(layer.projection), norm(layer.norm_2), matrix(layer.in),
                     matrix(layer.out)});
  }
  const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(table.data()),
                               table.size() * sizeof(kernels::DecodeLayer));
  layer_table_ =
      Tensor::from<std::uint8_t>(bytes, {static_cast<std::int64_t>(bytes.size())}, device_);
  exchange_ = zeros({kernels::cuda::decode_exchange_size(fused)}, DType::i64, device_);
  fused.layers = reinterpret_cast<const kernels::DecodeLayer*>(layer_table_.data());
  fused.last_norm = norm(last_norm_);
  fused.head = matrix(head_);
  fused.embedding = model_.embedding().data();
  if (model_.positions() != nullptr) fused.positions = model_.positions()->data();
  if (model_.rotary() != nullptr) fused.rotary = floats(*model_.rotary());
  fused.tokens = reinterpret_cast<const std::int64_t*>(tokens_.data());
  fused.length = reinterpret_cast<const std::int64_t*>(lengths_.data());
  fused.exchange = reinterpret_cast<std::uint64_t*>(exchange_.data());
  fused.logits = floats(logits_);
  synchronize(device_);  // steps run on another stream
  fused_ = fused;
}

kernels::DecodeNorm GptDecoder::norm_kind() const {
  return config_.norm == GptNorm::layer ? kernels::DecodeNorm::layer : kernels::DecodeNorm::rms;
}

kernels::DecodeActivation GptDecoder::activation_kind() const {
  return config_.activation == GptActivation::gelu ? kernels::DecodeActivation::gelu
                                                   : kernels::DecodeActivation::gated_silu;
}

GptDecoder::Matrix GptDecoder::matrix_of(const Tensor& weight, const Tensor* bias) {
  Matrix made{autograd::detach(weight), {}, {}};
  if (bias != nullptr) made.bias = autograd::detach(*bias).to(DType::f32);
  return made;
}

GptDecoder::Matrix GptDecoder::matrix_of(const nn::Linear& linear) {
  return matrix_of(linear.weight, linear.bias);
}

GptDecoder::Matrix GptDecoder::matrix_of(const GptInt8::Matrix& matrix) {
  return {matrix.weight.values, matrix.weight.scales, matrix.bias};
}

// Shorter prompts are padded on the right; their steps overwrite the cache of the padding before
// they attend to it.
void GptDecoder::fill_cache(const Tensor& tokens) {
  const std::int64_t length = tokens.size(1);
  const std::int64_t n_kv = config_.n_kv_heads();
  const std::int64_t size = config_.head_size();
  const auto store_heads = [&](std::size_t layer, const Tensor& heads) {
    const Tensor split = heads.reshape({batch_, length, config_.heads + 2 * n_kv, size});
    const auto store = [&](const Tensor& cache, std::int64_t first) {
      cache.slice(2, 0, length).copy_from(split.slice(2, first, first + n_kv).transpose(1, 2));
    };
    store(layers_[layer].keys, config_.heads);
    store(layers_[layer].values, config_.heads + n_kv);
  };
  // A GPU computes a few rows as fast in floating point.
  const std::int64_t least = device_.is_cuda() ? 64 : 1;
  if (int8_ != nullptr && length >= least && int8_->takes(length)) {
    int8_->hidden(tokens, store_heads);
  } else {
    model_.hidden(tokens, store_heads);
  }
}

GptDecoder::Norm GptDecoder::norm_of(const GptNormLayer& layer) {
  const auto wide = [&](const char* name) {
    const auto found = layer.find(name);
    return found.has_value() ? std::optional(autograd::detach(*found).to(DType::f32)) : found;
  };
  return {wide("weight"), wide("bias")};
}

void GptDecoder::multiply(kernels::DecodeLinear how, const Norm* norm, const Matrix& matrix,
                          const Tensor& x, const Tensor& y) {
  const StreamView stream = current_stream(device_);
  kernels::DecodeLinearOperands operands;
  operands.x = operand(x.flatten(), stream);
  if (norm != nullptr) {
    how.norm = norm_kind();
    how.epsilon = static_cast<float>(config_.epsilon);
    operands.norm_weight = operand_or_none(norm->weight, stream);
    operands.norm_bias = operand_or_none(norm->bias, stream);
  }
  operands.weight = operand(matrix.weight, stream);
  operands.scales = operand_or_none(matrix.scales, stream);
  operands.bias = operand_or_none(matrix.bias, stream);
  operands.y = operand(y.flatten(), stream);
  kernels::cpu::decode_linear(how, operands);
}

void GptDecoder::attend(const Layer& layer, const Tensor& heads, const Tensor& mixed) {
  const StreamView stream = current_stream(device_);
  const Tensor* rotary = model_.rotary();
  const kernels::DecodeAttention how{static_cast<int>(config_.heads),
                                     static_cast<int>(config_.n_kv_heads())};
  kernels::decode_attention(stream, how, operand(heads, stream),
                            rotary != nullptr ? operand(*rotary, stream) : kernels::Operand(),
                            operand(layer.keys, stream), operand(layer.values, stream),
                            operand(lengths_, stream), operand(mixed, stream));
}

Tensor GptDecoder::embedded() {
  const StreamView stream = current_stream(device_);
  const Tensor* positions = model_.positions();
  kernels::decode_embed(
      stream, operand(tokens_, stream), operand(lengths_, stream),
      operand(autograd::detach(model_.embedding()), stream),
      positions != nullptr ? operand(autograd::detach(*positions), stream) : kernels::Operand(),
      operand(x_, stream));
  return x_;
}

Tensor GptDecoder::decode_vectors() {
  embedded();
  kernels::DecodeLinear plain;
  kernels::DecodeLinear adding;
  adding.adds = true;
  kernels::DecodeLinear active;
  active.activation = activation_kind();
  for (const Layer& layer : layers_) {
    multiply(plain, &layer.norm_1, layer.qkv, x_, heads_);
    attend(layer, heads_, mixed_);
    multiply(adding, nullptr, layer.projection, mixed_, x_);
    multiply(active, &layer.norm_2, layer.in, x_, hidden_);
    multiply(adding, nullptr, layer.out, hidden_, x_);
  }
  multiply(plain, &last_norm_, head_, x_, logits_);
  return logits_;
}

Tensor GptDecoder::decode_matrices() {
  const DType dtype = model_.embedding().dtype();
  autograd::AddNorm state;
  state.sum = embedded();
  state.normed = model_.layers()[0]->norm_1->forward(state.sum);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    GptLayer& part = *model_.layers()[i];
    GptNormLayer& next =
        i + 1 < layers_.size() ? *model_.layers()[i + 1]->norm_1 : model_.last_norm();
    const Tensor mixed = Tensor::empty({batch_, config_.width}, dtype, device_);
    attend(layers_[i], part.attention->qkv->forward(state.normed), mixed);
    const autograd::AddNorm middle =
        part.norm_2->add(part.attention->projection->forward(mixed), state.sum);
    state = next.add(part.mlp->forward(middle.normed), middle.sum);
  }
  return autograd::linear(state.normed, model_.head());
}

Tensor GptDecoder::decode_fused() {
  kernels::cuda::decode_model(current_stream(device_), *fused_);
  return logits_;
}

Tensor GptDecoder::decode_logits() {
  if (fused_.has_value()) return decode_fused();
  return batch_ == 1 && device_.is_cpu() ? decode_vectors() : decode_matrices();
}

}  // namespace causeway::models
