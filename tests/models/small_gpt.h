// Small GPT models for tests.
#pragma once

#include "causeway/models/gpt_decoder.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace causeway {

using models::Gpt;
using models::GptConfig;
using models::GptDecoder;

inline GptConfig tiny() {
  GptConfig config;
  config.vocabulary = 37;
  config.length = 24;
  config.width = 32;
  config.layers = 2;
  config.heads = 4;
  return config;
}

inline GptConfig tiny_llama() {
  GptConfig config = tiny();
  config.norm = models::GptNorm::rms;
  config.positions = models::GptPositions::rotary;
  config.activation = models::GptActivation::swiglu;
  config.bias = false;
  config.kv_heads = 2;
  config.hidden = 48;
  config.tied_head = false;
  return config;
}

// Weights large enough that logits differ.
inline std::shared_ptr<Gpt> make(const GptConfig& config, Device device = Device::cpu(),
                                 DType dtype = DType::f32) {
  Generator generator(5);
  auto model = std::make_shared<Gpt>(config, nn::Placement{DType::f32, Device::cpu(), &generator});
  for (const Tensor& parameter : model->parameters()) {
    const Tensor values = autograd::detach(parameter);
    values.copy_from(values + generator.normal(values.shape(), 0, 0.2));
  }
  model->to(dtype);
  model->to(device);
  return model;
}

inline Tensor random_tokens(const GptConfig& config, std::int64_t batch, std::int64_t length) {
  return Generator(7).integers({batch, length}, 0, config.vocabulary);
}

inline std::vector<double> numbers(const Tensor& x) {
  return autograd::detach(x).to(DType::f64).to(Device::cpu()).to_vector<double>();
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  const auto x = numbers(a);
  const auto y = numbers(b);
  EXPECT_EQ(x.size(), y.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

inline models::GenerateOptions greedy_options(std::int64_t count) {
  models::GenerateOptions options;
  options.tokens = count;
  options.temperature = 0;
  return options;
}

}  // namespace causeway
