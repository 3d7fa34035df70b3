// A small network and its loss on some rows of a batch, for tests of averaged gradients.
#pragma once

#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/tensor/create.h"

#include <vector>

namespace causeway {

struct SmallModel {
  static constexpr std::int64_t kRows = 48;
  std::vector<Tensor> parameters;
  Tensor x;
  Tensor y;

  explicit SmallModel(std::uint64_t seed = 7, Device device = Device::cpu()) {
    Generator generator(seed);
    const auto parameter = [&](const Shape& shape) {
      Tensor values = generator.normal(shape, 0, 0.3).to(device);
      autograd::set_requires_grad(values, true);
      parameters.push_back(values);
    };
    parameter({33, 17});
    parameter({33});
    parameter({65, 33});
    parameter({65});
    parameter({1, 65});
    parameter({1});
    Generator data(1);
    x = data.normal({kRows, 17}).to(device);
    y = data.normal({kRows, 1}).to(device);
  }

  // The mean over rows [begin, end).
  Tensor loss(std::int64_t begin, std::int64_t end) const {
    const auto& p = parameters;
    Tensor h = autograd::tanh(autograd::linear(x.slice(0, begin, end), p[0], p[1]));
    h = autograd::gelu(autograd::linear(h, p[2], p[3]));
    return autograd::mse_loss(autograd::linear(h, p[4], p[5]), y.slice(0, begin, end));
  }

  std::vector<Tensor> gradients() const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : parameters) all.push_back(*autograd::gradient_of(parameter));
    return all;
  }
};

}  // namespace causeway
