// Modules: names, shared parameters, state dicts, conversions, errors.
#include "causeway/nn/module.h"

#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/nn/layers.h"
#include "causeway/tensor/create.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace causeway::nn {
namespace {

// Two linear layers, the second of which shares the weight of the first.
struct Tied : Module {
  std::shared_ptr<Linear> a = std::make_shared<Linear>(3, 3);
  std::shared_ptr<Linear> b = std::make_shared<Linear>(3, 3, false);
  Tensor& scale = add_parameter("scale", ones({3}));
  Tensor& count = add_buffer("count", zeros({1}, DType::i64));

  Tied() {
    b->add_parameter("weight", a->weight);
    add_module("a", a);
    add_module("b", b);
  }
  Tensor forward(const Tensor& x) override { return b->forward(a->forward(x)); }
};

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_equal(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.to(DType::f64).to_vector<double>(), b.to(DType::f64).to_vector<double>());
}

TEST(NnModule, NamesListSharedParametersOnce) {
  Tied net;
  EXPECT_EQ(names_of(net.named_parameters()),
            (std::vector<std::string>{"scale", "a.weight", "a.bias"}));
  EXPECT_EQ(names_of(net.named_buffers()), std::vector<std::string>{"count"});
  EXPECT_EQ(net.n_parameters(), 3 + 9 + 3);
  EXPECT_EQ(net.parameters().size(), 3u);
  EXPECT_EQ(net.children().size(), 2u);
  EXPECT_EQ(net.state().size(), 5u);  // under all names, with the buffer
  EXPECT_TRUE(net.state().contains("b.weight"));
}

TEST(NnModule, SharedParametersReceiveBothGradients) {
  Tied net;
  const Tensor x = ones({1, 3});
  autograd::backward(autograd::sum(net(x)));
  ASSERT_TRUE(autograd::gradient_of(net.b->weight).has_value());
  expect_equal(*autograd::gradient_of(net.a->weight), *autograd::gradient_of(net.b->weight));
  // d/dW of 1^T W (W x + bias): 1 (W x + bias)^T + (W^T 1) x^T.
  const Tensor w = autograd::detach(net.a->weight).to(DType::f64);
  const Tensor bias = autograd::detach(*net.a->bias).to(DType::f64);
  const Tensor hidden = sum(w, {1}) + bias;
  const Tensor want = hidden.unsqueeze(0).expand({3, 3}) + sum(w, {0}).unsqueeze(1).expand({3, 3});
  const auto got = autograd::gradient_of(net.a->weight)->to(DType::f64).to_vector<double>();
  const auto expected = want.contiguous().to_vector<double>();
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
  net.zero_grad();
  EXPECT_FALSE(autograd::gradient_of(net.a->weight).has_value());
}

TEST(NnModule, StateRoundTrips) {
  Tied from, to;
  from.count.copy_from(full({1}, 7, DType::i64));
  to.load_state(from.state());
  expect_equal(autograd::detach(to.a->weight), autograd::detach(from.a->weight));
  expect_equal(autograd::detach(to.b->weight), autograd::detach(from.a->weight));
  EXPECT_EQ(to.count.item(), 7);
  const Tensor x = ones({2, 3});
  expect_equal(autograd::detach(to(x)), autograd::detach(from(x)));
}

TEST(NnModule, LoadingReportsKeysAndShapes) {
  Tied net;
  const auto good = net.state();
  auto state = good;
  state.erase("scale");
  EXPECT_NE(message_of([&] { net.load_state(state); }).find("\"scale\" is missing"),
            std::string::npos);
  state = good;
  state["extra"] = ones({1});
  EXPECT_NE(message_of([&] { net.load_state(state); })
                .find("unexpected key: the module has no "
                      "\"extra\""),
            std::string::npos);
  state = good;
  state["scale"] = ones({4});
  EXPECT_NE(message_of([&] { net.load_state(state); }).find("\"scale\" has shape (4,)"),
            std::string::npos);
}

TEST(NnModule, ConversionKeepsSharingAndReferences) {
  Tied net;
  const Tensor before = net.a->weight;
  net.to(DType::f64);
  EXPECT_EQ(net.scale.dtype(), DType::f64);
  EXPECT_EQ(net.a->weight.dtype(), DType::f64);
  EXPECT_EQ(net.a->weight.data(), net.b->weight.data());
  EXPECT_EQ(net.count.dtype(), DType::i64);  // integers are not converted
  EXPECT_EQ(before.dtype(), DType::f32);     // old handles are detached from the module
  EXPECT_TRUE(autograd::requires_grad(net.a->weight));
  EXPECT_EQ(net.n_parameters(), 15);
  BatchNorm norm(2);
  norm.to(DType::bf16);
  EXPECT_EQ(norm.weight.dtype(), DType::bf16);
  EXPECT_EQ(norm.running_mean.dtype(), DType::f32);
}

TEST(NnModule, TrainingModeReachesAllSubmodules) {
  const auto dropout = std::make_shared<Dropout>(0.5);
  Sequential net({std::make_shared<Linear>(4, 4), dropout});
  EXPECT_TRUE(dropout->training());
  net.eval();
  EXPECT_FALSE(dropout->training());
  net.train();
  EXPECT_TRUE(dropout->training());
}

TEST(NnModule, SequentialAppliesInOrder) {
  const auto a = std::make_shared<Linear>(2, 3);
  const auto b = std::make_shared<Unary>(UnaryOp::tanh);
  const auto c = std::make_shared<Linear>(3, 1);
  Sequential net({a, b, c});
  EXPECT_EQ(names_of(net.named_parameters()),
            (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  const Tensor x = Generator(1).normal({5, 2});
  expect_equal(autograd::detach(net(x)), autograd::detach(c->forward(b->forward(a->forward(x)))));
}

TEST(NnModule, RejectsInvalidParts) {
  const auto net = std::make_shared<Tied>();
  EXPECT_NE(message_of([&] { net->add_module("none", nullptr); }).find("expected a module"),
            std::string::npos);
  EXPECT_NE(message_of([&] { net->a->add_module("loop", net); }).find("cannot contain itself"),
            std::string::npos);
  const Tensor result = autograd::multiply(net->scale, Scalar(2.0));
  EXPECT_NE(message_of([&] { net->add_parameter("x", result); }).find("detach()"),
            std::string::npos);
  EXPECT_NE(message_of([] { Module().forward(ones({1})); }).find("not implemented"),
            std::string::npos);
  net->remove("scale");
  EXPECT_FALSE(net->find("scale").has_value());
  EXPECT_TRUE(net->find("count").has_value());
}

}  // namespace
}  // namespace causeway::nn
