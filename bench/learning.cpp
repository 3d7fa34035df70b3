// Building blocks of training: norms and losses (norms.cpp), attention (attention.cpp), and here
// linear layers, convolution, pooling and the optimizer. Sizes are those of real models on a GPU,
// small on the CPU.
#include "bench/harness.h"
#include "causeway/autograd/convolution.h"
#include "causeway/autograd/matmul.h"
#include "causeway/optim/optimizer.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/matmul.h"

#include <fmt/format.h>

namespace causeway::bench {

namespace {

struct Bench {
  Device device;
  const Report& report;

  void time(const std::string& name, double bytes, double flops, std::function<void()> run) const {
    report(measure({name, bytes, flops, std::move(run)}, device));
  }
};

// Parameters of GPT-2 124M; on the CPU a fiftieth of that.
std::vector<Tensor> parameters(Device device) {
  const std::int64_t width = device.is_cuda() ? 768 : 128;
  const std::int64_t entries = device.is_cuda() ? 50304 : 5030;
  std::vector<Shape> shapes{{entries, width}, {1024, width}, {width}, {width}};
  for (int layer = 0; layer < 12; ++layer) {
    for (const Shape& shape :
         {Shape{3 * width, width}, Shape{3 * width}, Shape{width, width}, Shape{width},
          Shape{4 * width, width}, Shape{4 * width}, Shape{width, 4 * width}, Shape{width},
          Shape{width}, Shape{width}, Shape{width}, Shape{width}}) {
      shapes.push_back(shape);
    }
  }
  Generator generator(5);
  std::vector<Tensor> tensors;
  for (const Shape& shape : shapes) {
    Tensor tensor = generator.normal(shape, 0, 0.02, DType::f32, device);
    autograd::set_requires_grad(tensor, true);
    autograd::set_gradient(tensor, generator.normal(shape, 0, 0.02, DType::f32, device));
    tensors.push_back(tensor);
  }
  return tensors;
}

void run_optimizer(const Bench& bench) {
  const std::vector<Tensor> tensors = parameters(bench.device);
  double count = 0;
  for (const Tensor& tensor : tensors) count += static_cast<double>(tensor.numel());
  const std::string size = fmt::format("{:.0f}M", count / 1e6);
  optim::Optimizer plain({1e-4, 0, 1, 0});
  plain.add_group(tensors, {});
  bench.time("adamw f32 " + size, 28 * count, 0, [&] { plain.step(); });
  optim::Optimizer clipped({1e-4, 1.0, 1, 0});
  clipped.add_group(tensors, {});
  bench.time("clip and adamw f32 " + size, 32 * count, 0, [&] { clipped.step(); });
}

void run_linear(const Bench& bench) {
  const std::int64_t rows = bench.device.is_cuda() ? 16384 : 1024;
  const std::int64_t in = bench.device.is_cuda() ? 1024 : 256;
  const DType dtype = bench.device.is_cuda() ? DType::bf16 : DType::f32;
  Generator generator(6);
  const auto draw = [&](const Shape& shape) {
    return generator.normal(shape, 0, 0.02, dtype, bench.device);
  };
  const Tensor x = draw({rows, in}), w_in = draw({4 * in, in}), b_in = draw({4 * in});
  const Tensor w_out = draw({in, 4 * in}), b_out = draw({in});
  const double flops = 2.0 * static_cast<double>(rows * in) * static_cast<double>(4 * in);
  const auto shape = fmt::format("{} {}x{}", to_string(dtype), rows, in);
  bench.time("linear " + shape, 0, flops, [&] { (void)autograd::linear(x, w_in, b_in); });
  bench.time("mlp " + shape, 0, 2 * flops,
             [&] { (void)autograd::mlp(x, w_in, b_in, w_out, b_out); });
  std::vector<Tensor> leaves{x, w_in, b_in, w_out, b_out};
  for (Tensor& leaf : leaves) autograd::set_requires_grad(leaf, true);
  const Tensor out = autograd::mlp(leaves[0], leaves[1], leaves[2], leaves[3], leaves[4]);
  const Tensor gradient = draw(out.shape());
  bench.time("mlp backward " + shape, 0, 4 * flops, [&] {
    autograd::backward(out, gradient, true);
    for (const Tensor& leaf : leaves) autograd::set_gradient(leaf, std::nullopt);
  });
}

void run_convolution(const Bench& bench, DType dtype, bool tf32) {
  const bool large = bench.device.is_cuda();
  const std::int64_t images = large ? 32 : 4;
  const std::int64_t size = large ? 128 : 32;
  Generator generator(7);
  const Tensor x = generator.normal({images, 64, size, size}, 0, 1, dtype, bench.device);
  const Tensor weight = generator.normal({128, 64, 3, 3}, 0, 0.05, dtype, bench.device);
  const Tensor out = Tensor::empty({images, 128, size, size}, dtype, bench.device);
  const double flops = 2.0 * static_cast<double>(out.numel()) * 64 * 9;
  const auto shape =
      fmt::format("{} {},64,{},{} to 128", tf32 ? "tf32" : to_string(dtype), images, size, size);
  autograd::Convolution how;
  how.padding = {1, 1};
  set_allow_tf32(tf32);
  bench.time("conv 3x3 " + shape, 0, flops, [&] { (void)autograd::conv2d(x, weight, {}, how); });
  Tensor leaf = autograd::detach(x);
  Tensor filter = autograd::detach(weight);
  autograd::set_requires_grad(leaf, true);
  autograd::set_requires_grad(filter, true);
  const Tensor y = autograd::conv2d(leaf, filter, {}, how);
  bench.time("conv 3x3 backward " + shape, 0, 2 * flops, [&] {
    autograd::backward(y, out, true);
    autograd::set_gradient(leaf, std::nullopt);
    autograd::set_gradient(filter, std::nullopt);
  });
  set_allow_tf32(false);
  if (tf32 || dtype != DType::f32) return;
  const double pooled = 1.25 * static_cast<double>(x.n_bytes());
  bench.time(fmt::format("max pool 2x2 f32 {},64,{},{}", images, size, size), pooled, 0,
             [&] { (void)autograd::pool2d(x, {}); });
}

}  // namespace

void run_learning(Device device, const Report& report) {
  const Bench bench{device, report};
  run_norms(device, report);
  run_attention(device, report);
  run_optimizer(bench);
  run_linear(bench);
  run_convolution(bench, DType::f32, false);
  if (device.is_cuda()) {
    run_convolution(bench, DType::f32, true);
    run_convolution(bench, DType::bf16, false);
  }
  pool_of(device).release_cached();
}

}  // namespace causeway::bench
