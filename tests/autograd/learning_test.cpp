// Differentiable operations on a GPU against the CPU, results and gradients. Memory is guarded, so
// that out-of-bounds writes are detected.
#include "causeway/autograd/convolution.h"
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/normalize.h"
#include "causeway/autograd/step_graph.h"
#include "causeway/nn/layers.h"
#include "causeway/optim/optimizer.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

namespace causeway {
namespace {

using autograd::ActivationOp;
using autograd::LossOp;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Red zones around all GPU allocations, checked when they are freed.
class Guarded {
 public:
  Guarded() : before_(pool_of(Device::cuda()).stats().corrupted) {
    pool_of(Device::cuda()).set_guarded(true);
  }
  ~Guarded() {
    synchronize(Device::cuda());
    EXPECT_EQ(pool_of(Device::cuda()).stats().corrupted, before_);
    pool_of(Device::cuda()).set_guarded(false);
  }

 private:
  std::uint64_t before_;
};

// Sums that nearly cancel keep the error of their terms, so the tolerance depends on the tensor's
// magnitude.
void expect_near(const Tensor& got, const Tensor& want, const std::string& what, double scale) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const Tolerance allowed = tolerance(want.dtype());
  const auto a = got.to(Device::cpu()).to(DType::f64).to_vector<double>();
  const auto b = want.to(DType::f64).to_vector<double>();
  double squares = 0;
  for (double value : b) squares += value * value;
  const double size = std::sqrt(squares / static_cast<double>(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double limit =
        scale * (allowed.absolute + allowed.relative * std::max(std::fabs(b[i]), size));
    ASSERT_LE(std::fabs(a[i] - b[i]), limit) << what << ": element " << i << " of " << a.size()
                                             << " is " << a[i] << ", expected " << b[i];
  }
}

// Results and gradients of `function` on both devices, from the same inputs.
void expect_same_learning(const std::string& what, const std::vector<Tensor>& inputs,
                          const Function& function, double scale) {
  std::vector<std::vector<Tensor>> found;
  for (Device device : {Device::cpu(), Device::cuda()}) {
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs) {
      Tensor leaf = input.to(device).clone();
      if (is_floating(leaf.dtype())) autograd::set_requires_grad(leaf, true);
      leaves.push_back(leaf);
    }
    const Tensor out = function(leaves);
    const Tensor seed = Generator(9).normal(out.shape(), 0, 1, out.dtype());
    autograd::backward(out, seed.to(device));
    std::vector<Tensor> all{autograd::detach(out)};
    for (const Tensor& leaf : leaves) {
      if (autograd::gradient_of(leaf).has_value()) all.push_back(*autograd::gradient_of(leaf));
    }
    found.push_back(all);
  }
  ASSERT_EQ(found[0].size(), found[1].size()) << what;
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    expect_near(found[1][i], found[0][i], fmt::format("{}, {}", what, i), scale);
  }
}

TEST(GpuLearning, ActivationsAndLosses) {
  CAUSEWAY_REQUIRE_GPU();
  const Guarded guarded;
  Generator generator(1);
  constexpr UnaryOp kUnary[] = {UnaryOp::negate, UnaryOp::absolute, UnaryOp::square,  UnaryOp::relu,
                                UnaryOp::exp,    UnaryOp::expm1,    UnaryOp::sin,     UnaryOp::cos,
                                UnaryOp::tanh,   UnaryOp::erf,      UnaryOp::sigmoid, UnaryOp::silu,
                                UnaryOp::gelu,   UnaryOp::gelu_tanh};
  constexpr UnaryOp kPositive[] = {UnaryOp::square_root, UnaryOp::reciprocal_root,
                                   UnaryOp::reciprocal,  UnaryOp::log,
                                   UnaryOp::log1p,       UnaryOp::log2,
                                   UnaryOp::tan};
  constexpr ActivationOp kActivations[] = {ActivationOp::leaky_relu, ActivationOp::elu,
                                           ActivationOp::softplus,   ActivationOp::hard_sigmoid,
                                           ActivationOp::hard_swish, ActivationOp::hard_tanh};
  constexpr LossOp kLosses[] = {LossOp::squared, LossOp::absolute, LossOp::huber, LossOp::pinball};
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (std::int64_t n : {1, 31, 33, 1003}) {
      const Tensor x = generator.normal({n}, 0, 1, dtype);
      const Tensor y = generator.normal({n}, 0, 1, dtype);
      const Tensor positive = generator.uniform({n}, 0.5, 1.5, dtype);
      for (UnaryOp op : kUnary) {
        expect_same_learning(
            fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), n), {x},
            [op](auto& in) { return autograd::unary(op, in[0]); }, 8);
      }
      for (UnaryOp op : kPositive) {
        expect_same_learning(
            fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), n), {positive},
            [op](auto& in) { return autograd::unary(op, in[0]); }, 8);
      }
      for (ActivationOp op : kActivations) {
        expect_same_learning(
            fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), n), {x},
            [op](auto& in) {
              return autograd::activation({op, 0.6, 0.9}, in[0]);
            },
            8);
      }
      for (LossOp op : kLosses) {
        for (auto reduction : {autograd::Reduction::mean, autograd::Reduction::none}) {
          expect_same_learning(
              fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), n), {x, y},
              [&](auto& in) {
                return autograd::elementwise_loss(op, 0.4, in[0], in[1], reduction);
              },
              16);
        }
      }
    }
  }
}

TEST(GpuLearning, LinearLayersAndEpilogues) {
  CAUSEWAY_REQUIRE_GPU();
  const Guarded guarded;
  Generator generator(2);
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    // Widths that cuBLAS epilogues support, and one that they do not.
    for (const auto& [rows, in, out] :
         {std::tuple(64, 64, 128), {33, 24, 40}, {5, 7, 9}, {1, 1, 1}}) {
      const auto draw = [&](const Shape& shape) { return generator.normal(shape, 0, 0.3, dtype); };
      const Tensor x = draw({rows, in});
      expect_same_learning(
          fmt::format("linear {} {}x{}x{}", to_string(dtype), rows, in, out),
          {x, draw({out, in}), draw({out})},
          [](auto& t) { return autograd::linear(t[0], t[1], t[2]); }, 8);
      expect_same_learning(
          fmt::format("mlp {} {}x{}x{}", to_string(dtype), rows, in, out),
          {x, draw({out, in}), draw({out}), draw({in, out}), draw({in})},
          [](auto& t) { return autograd::mlp(t[0], t[1], t[2], t[3], t[4]); }, 8);
      expect_same_learning(
          fmt::format("mlp without biases {} {}x{}x{}", to_string(dtype), rows, in, out),
          {x, draw({out, in}), draw({in, out})},
          [](auto& t) { return autograd::mlp(t[0], t[1], {}, t[2], {}); }, 8);
    }
  }
}

TEST(GpuLearning, ConvolutionAndPooling) {
  CAUSEWAY_REQUIRE_GPU();
  const Guarded guarded;
  Generator generator(3);
  autograd::Convolution plain, wide, grouped;
  plain.padding = {1, 1};
  wide.stride = {2, 1};
  wide.dilation = {1, 2};
  grouped.groups = 2;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const autograd::Convolution& how : {plain, wide, grouped}) {
      const Tensor x = generator.normal({3, 8, 11, 9}, 0, 0.5, dtype);
      const Tensor weight = generator.normal({16, 8 / how.groups, 3, 3}, 0, 0.2, dtype);
      expect_same_learning(
          fmt::format("conv2d {}", to_string(dtype)), {x, weight},
          [&](auto& t) { return autograd::conv2d(t[0], t[1], {}, how); }, 8);
    }
    for (autograd::PoolOp op : {autograd::PoolOp::max, autograd::PoolOp::average}) {
      const Tensor x = generator.normal({2, 3, 13, 10}, 0, 1, dtype);
      for (const autograd::Pooling& how :
           {autograd::Pooling{op}, autograd::Pooling{op, {3, 2}, {2, 1}, {1, 0}}}) {
        expect_same_learning(
            fmt::format("pool {}", to_string(dtype)), {x},
            [&](auto& t) { return autograd::pool2d(t[0], how); }, 8);
      }
    }
  }
}

// Large enough for FFT algorithms. cuDNN computes the weight's gradient, a sum over all pixels, by
// Winograd, which is accurate to about 1e-4.
TEST(GpuLearning, LargeConvolution) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(4);
  autograd::Convolution how;
  how.padding = {1, 1};
  const Tensor x = generator.normal({8, 64, 64, 70}, 0, 0.5);
  const Tensor weight = generator.normal({64, 64, 3, 3}, 0, 0.05);
  expect_same_learning(
      "conv2d", {x, weight}, [&](auto& t) { return autograd::conv2d(t[0], t[1], {}, how); }, 100);
}

TEST(GpuLearning, EveryOptimizer) {
  CAUSEWAY_REQUIRE_GPU();
  const Guarded guarded;
  for (DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (auto algorithm :
         {optim::Algorithm::sgd, optim::Algorithm::adam, optim::Algorithm::adamw,
          optim::Algorithm::rmsprop, optim::Algorithm::adagrad, optim::Algorithm::schedule_free}) {
      std::vector<std::vector<Tensor>> found;
      for (Device device : {Device::cpu(), Device::cuda()}) {
        Generator generator(4);
        std::vector<Tensor> parameters;
        for (const Shape& shape : {Shape{1}, Shape{31}, Shape{33, 129}, Shape{5000}}) {
          Tensor parameter = generator.normal(shape, 0, 1, dtype).to(device);
          autograd::set_requires_grad(parameter, true);
          parameters.push_back(parameter);
        }
        optim::Optimizer optimizer({0.01, 1.5, 1, 0});
        optim::GroupOptions options;
        options.algorithm = algorithm;
        options.momentum = 0.9;
        options.weight_decay = 0.1;
        optimizer.add_group(parameters, options);
        for (int step = 0; step < 4; ++step) {
          for (const Tensor& parameter : parameters) {
            autograd::set_gradient(parameter,
                                   generator.normal(parameter.shape(), 0, 1, dtype).to(device));
          }
          optimizer.step();
          optimizer.zero_grad();
        }
        found.push_back(parameters);
      }
      for (std::size_t i = 0; i < found[0].size(); ++i) {
        expect_close(found[1][i], found[0][i],
                     fmt::format("{} {} {}", optim::to_string(algorithm), to_string(dtype), i),
                     dtype == DType::f64 ? 100 : 20);
      }
    }
  }
}

// A network with every kind of kernel, trained for a few steps.
struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};

// An allocation of step `fails_at` fails.
Trained train(Device device, bool replayed, DType dtype, int fails_at = -1) {
  autograd::manual_seed(7);
  Generator generator(8);
  const nn::Placement placement{dtype, device, &generator};
  const auto attention = std::make_shared<nn::Attention>(32, 2, true, true, placement);
  const auto norm = std::make_shared<nn::LayerNorm>(32, 1e-5, placement);
  const auto mlp = std::make_shared<nn::Mlp>(32, 64, true, placement);
  const auto head = std::make_shared<nn::Linear>(32, 10, true, placement);
  const auto table = std::make_shared<nn::Embedding>(20, 32, placement);
  nn::Sequential net({table, attention, norm, std::make_shared<nn::Dropout>(0.1), mlp, head});
  optim::Optimizer optimizer({0.01, 1.0, 1, 0});
  optimizer.add_group(net.parameters(), {});
  const autograd::StepGraph::Body body = [&](const std::vector<Tensor>& in) {
    Tensor loss;
    try {
      loss = autograd::cross_entropy(net(in[0]), in[1]);
      autograd::backward(loss);
    } catch (...) {
      optimizer.zero_grad();
      throw;
    }
    optimizer.step();
    optimizer.zero_grad();
    return std::vector{autograd::detach(loss)};
  };
  autograd::StepGraph graph(device, body);
  Trained result;
  Generator source(3);
  for (int step = 0; step < 5; ++step) {
    const Tensor tokens = source.integers({4, 12}, 0, 20, DType::i64, device);
    const Tensor classes = source.integers({4, 12}, 0, 10, DType::i64, device);
    if (step == fails_at) pool_of(device).fail_nth(9);
    if (replayed) {
      result.losses.push_back(graph({tokens, classes})[0].item());
    } else {
      autograd::begin_step(device);
      result.losses.push_back(body({tokens, classes})[0].item());
    }
  }
  for (const Tensor& weight : net.parameters()) {
    result.weights.push_back(autograd::detach(weight).clone());
  }
  return result;
}

TEST(Learning, StepsAreDeterministic) {
  const Trained a = train(Device::cpu(), false, DType::f32);
  const Trained b = train(Device::cpu(), true, DType::f32);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_LT(a.losses.back(), a.losses.front());
}

TEST(GpuLearning, ReplayedStepEqualsEagerStep) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Trained eager = train(Device::cuda(), false, dtype);
    const Trained replayed = train(Device::cuda(), true, dtype);
    EXPECT_EQ(eager.losses, replayed.losses);
    for (std::size_t i = 0; i < eager.weights.size(); ++i) {
      expect_same_bytes(replayed.weights[i], eager.weights[i], fmt::format("weight {}", i));
    }
  }
}

TEST(GpuLearning, AStepThatRunsOutOfMemoryIsRepeated) {
  CAUSEWAY_REQUIRE_GPU();
  const Trained eager = train(Device::cuda(), false, DType::f32);
  for (const int fails_at : {0, 1}) {  // in an eager step, and in a capture
    const Trained repeated = train(Device::cuda(), true, DType::f32, fails_at);
    EXPECT_EQ(eager.losses, repeated.losses) << fails_at;
    for (std::size_t i = 0; i < eager.weights.size(); ++i) {
      expect_same_bytes(repeated.weights[i], eager.weights[i], fmt::format("weight {}", i));
    }
  }
}

TEST(GpuLearning, TrainingMatchesTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  const Trained cpu = train(Device::cpu(), false, DType::f32);
  const Trained gpu = train(Device::cuda(), false, DType::f32);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    EXPECT_NEAR(cpu.losses[i], gpu.losses[i], 1e-3) << i;
  }
}

}  // namespace
}  // namespace causeway
