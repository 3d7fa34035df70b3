// The backward pass, in cases where memory that is freed too early would be read.
#include "causeway/autograd/attention.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/gradcheck.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/normalize.h"
#include "causeway/autograd/reduce.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/matmul.h"
#include "tests/tensor/devices.h"

#include <malloc.h>

namespace causeway {
namespace {

// Overwrites freed memory during its lifetime.
class Overwritten {
 public:
  Overwritten() { mallopt(M_PERTURB, 0xa5); }
  ~Overwritten() { mallopt(M_PERTURB, 0); }
};

TEST(Backward, NodesOutliveTheTensorsBetweenThem) {
  const Overwritten memory;
  Generator generator(1);
  Tensor x = generator.normal({4, 8});
  autograd::set_requires_grad(x, true);
  const Tensor ones_like = ones({4, 8});
  const auto chain = [&] {
    // A node with two results, one of which completes long before the other.
    const auto [sum, normed] = autograd::add_norm(autograd::NormOp::rms, x, ones_like);
    Tensor branch = autograd::tanh(normed);
    for (int i = 0; i < 5; ++i) branch = autograd::tanh(branch);
    return autograd::sum(autograd::multiply(sum, branch));
  };
  const double first = chain().item();
  autograd::backward(chain());
  const Tensor gradient = autograd::gradient_of(x)->clone();
  autograd::set_gradient(x, std::nullopt);
  // While handles are held, nothing is freed.
  const auto both = autograd::add_norm(autograd::NormOp::rms, x, ones_like);
  std::vector<Tensor> held = {both.sum, both.normed};
  for (int i = 0; i < 6; ++i) held.push_back(autograd::tanh(held.back()));
  held.push_back(autograd::multiply(both.sum, held.back()));
  held.push_back(autograd::sum(held.back()));
  EXPECT_EQ(held.back().item(), first);
  autograd::backward(held.back());
  expect_same_bytes(gradient, *autograd::gradient_of(x), "gradient");
}

// Gradients of the sum of squares of a deep chain of linear layers, with one weight `tied` to all
// layers or one per layer, against explicit products.
void expect_plain_gradients(Device device, DType dtype, bool tied) {
  constexpr int kDepth = 12;
  Generator generator(3);
  Tensor x = (generator.normal({64, 24}) * Scalar(0.5)).to(dtype).to(device);
  std::vector<Tensor> weights;
  std::vector<Tensor> biases;
  for (int i = 0; i < (tied ? 1 : kDepth); ++i) {
    weights.push_back((generator.normal({24, 24}) * Scalar(0.03)).to(dtype).to(device));
    biases.push_back(generator.normal({24}).to(dtype).to(device));
  }
  const auto of_layer = [&](const std::vector<Tensor>& all, int i) -> const Tensor& {
    return all[tied ? 0 : static_cast<std::size_t>(i)];
  };
  // Reference: every layer's input is used twice, by its product and by the residual.
  std::vector<Tensor> inputs = {x};
  for (int i = 0; i < kDepth; ++i) {
    const Tensor& in = inputs.back();
    inputs.push_back(in + matmul(in, of_layer(weights, i).transpose()) + of_layer(biases, i));
  }
  Tensor g = inputs.back() * Scalar(2.0);
  std::vector<Tensor> want_weights(weights.size());
  std::vector<Tensor> want_biases(weights.size());
  for (int i = kDepth - 1; i >= 0; --i) {
    const std::size_t at = tied ? 0 : static_cast<std::size_t>(i);
    const Tensor of_weight = matmul(g.transpose(), inputs[static_cast<std::size_t>(i)]);
    const bool first = !tied || i == kDepth - 1;
    want_weights[at] = first ? of_weight : want_weights[at] + of_weight;
    want_biases[at] = first ? sum(g, {0}) : want_biases[at] + sum(g, {0});
    g = matmul_add(1, g, of_layer(weights, i), 1, g);
  }
  for (std::vector<Tensor>* all : {&weights, &biases}) {
    for (Tensor& parameter : *all) autograd::set_requires_grad(parameter, true);
  }
  autograd::set_requires_grad(x, true);
  for (int times = 1; times <= 2; ++times) {  // the second pass accumulates
    Tensor y = x;
    for (int i = 0; i < kDepth; ++i) {
      y = autograd::add(y, autograd::linear(y, of_layer(weights, i), of_layer(biases, i)));
    }
    autograd::backward(autograd::sum(autograd::multiply(y, y)));
    const Scalar factor(static_cast<double>(times));
    const std::string what = std::string(to_string(dtype)) + (tied ? ", tied" : "");
    expect_close(*autograd::gradient_of(x), g * factor, what + " x", 30);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      expect_close(*autograd::gradient_of(weights[i]), want_weights[i] * factor, what + " weight",
                   300);
      expect_close(*autograd::gradient_of(biases[i]), want_biases[i] * factor, what + " bias", 300);
    }
  }
}

TEST(Backward, LinearLayersAccumulateGradients) {
  for (const bool tied : {false, true}) {
    expect_plain_gradients(Device::cpu(), DType::f32, tied);
    expect_plain_gradients(Device::cpu(), DType::f64, tied);
  }
}

// The gradients of the parameters are computed on a second stream.
TEST(GpuBackward, LinearLayersAccumulateGradients) {
  CAUSEWAY_REQUIRE_GPU();
  for (const bool tied : {false, true}) {
    expect_plain_gradients(Device::cuda(0), DType::f32, tied);
    expect_plain_gradients(Device::cuda(0), DType::f64, tied);
  }
}

TEST(Backward, HooksReceiveGradientsOfLinearLayers) {
  const Device device = cuda_device_count() > 0 ? Device::cuda(0) : Device::cpu();
  Generator generator(4);
  const Tensor x = generator.normal({32, 8}).to(device);
  Tensor weight = generator.normal({8, 8}).to(device);
  autograd::set_requires_grad(weight, true);
  const auto loss = [&] { return autograd::sum(autograd::linear(x, weight)); };
  autograd::backward(loss());
  const Tensor plain = autograd::gradient_of(weight)->clone();
  autograd::set_gradient(weight, std::nullopt);
  autograd::add_hook(weight, [](const Tensor& gradient) { return gradient * Scalar(3.0); });
  autograd::backward(loss());
  expect_close(*autograd::gradient_of(weight), plain * Scalar(3.0), "by a hook");
}

// One query per sequence, as for a target that reads its row; one of them has an empty context.
TEST(Backward, AttentionOfFewQueries) {
  Generator generator(5);
  Tensor q = generator.normal({3, 1, 2, 8}, 0, 1, DType::f64);
  Tensor kv = generator.normal({3, 5, 2, 2, 8}, 0, 1, DType::f64);
  autograd::AttentionOptions options;
  options.context = Tensor::from<std::int64_t>(std::vector<std::int64_t>{5, 0, 3}, {3});
  const auto part = [&](int which) { return kv.select(3, which).transpose(1, 2); };
  const Tensor expected = autograd::attention(q.transpose(1, 2), part(0), part(1), options);
  expect_close(autograd::attention_by_heads(q, kv, options), expected.transpose(1, 2), "of heads");
  autograd::set_requires_grad(q, true);
  autograd::set_requires_grad(kv, true);
  autograd::gradcheck(
      [&](const std::vector<Tensor>& in) {
        return autograd::attention_by_heads(in[0], in[1], options);
      },
      {q, kv});
}

}  // namespace
}  // namespace causeway
