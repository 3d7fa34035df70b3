// Batch norm against plain f64 loops on the CPU, and the GPU against the CPU.
#include "causeway/kernels/norm/norm.h"
#include "tests/kernels/guarded.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway {
namespace {

using kernels::BatchNorm;
using kernels::Operand;

struct BatchNormResults {
  Tensor out, mean, rstd, running_mean, running_variance;
  Tensor in_gradient, weight_gradient, bias_gradient;
};

struct BatchNormInputs {
  BatchNorm how;
  Tensor in, weight, bias, running_mean, running_variance, gradient;
};

BatchNormInputs batch_norm_inputs(Generator& generator, kernels::Cube cube, DType dtype,
                                  bool training, bool affine) {
  BatchNormInputs inputs;
  inputs.how = {cube, training, 0.1, 1e-5};
  inputs.in = generator.normal({cube.outer, cube.axis, cube.inner}, 3, 2, dtype);
  inputs.gradient = generator.normal({cube.outer, cube.axis, cube.inner}, 0, 1, dtype);
  inputs.running_mean = generator.normal({cube.axis}, 0, 1, statistics_of(dtype));
  inputs.running_variance = generator.uniform({cube.axis}, 0.5, 2, statistics_of(dtype));
  if (affine) inputs.weight = generator.normal({cube.axis}, 1, 0.5, dtype);
  if (affine) inputs.bias = generator.normal({cube.axis}, 0, 1, dtype);
  return inputs;
}

BatchNormResults batch_norm_on(Device device, const BatchNormInputs& inputs) {
  const BatchNorm& how = inputs.how;
  const DType dtype = inputs.in.dtype();
  const DType statistics = statistics_of(dtype);
  const StreamView stream = current_stream(device);
  const std::int64_t channels = how.cube.axis;
  const Placed in(inputs.in, device, 0), weight(inputs.weight, device, 0);
  const Placed bias(inputs.bias, device, 0), gradient(inputs.gradient, device, 0);
  const Guarded running_mean(channels, statistics, device);
  const Guarded running_variance(channels, statistics, device);
  running_mean.inside().copy_from(inputs.running_mean.to(device));
  running_variance.inside().copy_from(inputs.running_variance.to(device));
  const Guarded out(how.cube.count(), dtype, device), in_gradient(how.cube.count(), dtype, device);
  const Guarded mean(channels, statistics, device), rstd(channels, statistics, device);
  const Guarded weight_gradient(channels, dtype, device), bias_gradient(channels, dtype, device);
  kernels::batch_norm(stream, how, in.operand(), weight.operand(), bias.operand(),
                      running_mean.operand(), running_variance.operand(), out.operand(),
                      mean.operand(), rstd.operand());
  const bool affine = inputs.weight.numel() > 0;
  kernels::batch_norm_gradient(stream, how, in.operand(), weight.operand(), mean.operand(),
                               rstd.operand(), gradient.operand(), in_gradient.operand(),
                               affine ? weight_gradient.operand() : Operand{},
                               affine ? bias_gradient.operand() : Operand{});
  return {out.take("out"),
          mean.take("mean"),
          rstd.take("rstd"),
          running_mean.take("running mean"),
          running_variance.take("running variance"),
          in_gradient.take("in gradient"),
          weight_gradient.take("weight gradient"),
          bias_gradient.take("bias gradient")};
}

void expect_batch_norms_close(const BatchNormResults& found, const BatchNormResults& want,
                              const std::string& what, double scale) {
  expect_close(found.out, want.out, what + " out", scale);
  expect_close(found.mean, want.mean, what + " mean", scale);
  expect_close(found.rstd, want.rstd, what + " rstd", scale);
  expect_close(found.running_mean, want.running_mean, what + " running mean", scale);
  expect_close(found.running_variance, want.running_variance, what + " running variance", scale);
  expect_close(found.in_gradient, want.in_gradient, what + " in gradient", scale);
  expect_close(found.weight_gradient, want.weight_gradient, what + " weight gradient", 5 * scale);
  expect_close(found.bias_gradient, want.bias_gradient, what + " bias gradient", 5 * scale);
}

BatchNormResults plain_batch_norm(const BatchNormInputs& inputs) {
  const std::int64_t images = inputs.how.cube.outer;
  const std::int64_t channels = inputs.how.cube.axis;
  const std::int64_t pixels = inputs.how.cube.inner;
  const DType dtype = inputs.in.dtype();
  const auto x = doubles(inputs.in), g = doubles(inputs.gradient);
  const auto w = given_or(inputs.weight, channels, 1), b = given_or(inputs.bias, channels, 0);
  auto running_mean = doubles(inputs.running_mean);
  auto running_variance = doubles(inputs.running_variance);
  const double n = double(images * pixels);
  std::vector<double> out(x.size()), dx(x.size()), mean(at(channels)), rstd(at(channels));
  std::vector<double> dw(at(channels), 0.0), db(at(channels), 0.0);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto each = [&](const auto& body) {
      for (std::int64_t image = 0; image < images; ++image) {
        for (std::int64_t p = 0; p < pixels; ++p) body(at((image * channels + c) * pixels + p));
      }
    };
    double m = running_mean[at(c)], v = running_variance[at(c)];
    if (inputs.how.training) {
      m = v = 0;
      each([&](std::size_t i) { m += x[i] / n; });
      each([&](std::size_t i) { v += (x[i] - m) * (x[i] - m) / n; });
      running_mean[at(c)] = 0.9 * running_mean[at(c)] + 0.1 * m;
      running_variance[at(c)] = 0.9 * running_variance[at(c)] + 0.1 * v * n / std::max(n - 1, 1.0);
    }
    const double s = 1 / std::sqrt(v + inputs.how.epsilon);
    each([&](std::size_t i) {
      out[i] = (x[i] - m) * s * w[at(c)] + b[at(c)];
      dw[at(c)] += g[i] * (x[i] - m) * s;
      db[at(c)] += g[i];
    });
    const double flat = inputs.how.training ? db[at(c)] / n : 0;
    const double along = inputs.how.training ? dw[at(c)] / n : 0;
    each([&](std::size_t i) { dx[i] = w[at(c)] * s * (g[i] - flat - (x[i] - m) * s * along); });
    mean[at(c)] = m;
    rstd[at(c)] = s;
  }
  const DType statistics = statistics_of(dtype);
  const bool affine = inputs.weight.numel() > 0;
  const Tensor mark = full({channels}, 77.0, dtype);
  return {from_doubles(out, dtype),
          from_doubles(mean, statistics),
          from_doubles(rstd, statistics),
          from_doubles(running_mean, statistics),
          from_doubles(running_variance, statistics),
          from_doubles(dx, dtype),
          affine ? from_doubles(dw, dtype) : mark,
          affine ? from_doubles(db, dtype) : mark};
}

constexpr kernels::Cube kCubes[] = {{1, 1, 1},    {5, 3, 1},     {100, 33, 1}, {3000, 8, 1},
                                    {7, 5, 2},    {9, 10, 15},   {4, 6, 49},   {3, 4, 64},
                                    {2, 3, 1000}, {30, 16, 196}, {1, 2, 20000}};

TEST(BatchNorm, MatchesReference) {
  Generator generator(10);
  for (DType dtype : kFloating) {
    for (const auto& cube : kCubes) {
      for (bool training : {true, false}) {
        const auto inputs = batch_norm_inputs(generator, cube, dtype, training, cube.axis > 3);
        expect_batch_norms_close(
            batch_norm_on(Device::cpu(), inputs), plain_batch_norm(inputs),
            fmt::format("{} {}x{}x{}", to_string(dtype), cube.outer, cube.axis, cube.inner), 20);
      }
    }
  }
}

TEST(GpuBatchNorm, MatchesCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(11);
  for (DType dtype : kFloating) {
    for (const auto& cube : kCubes) {
      for (bool training : {true, false}) {
        for (bool affine : {true, false}) {
          const auto inputs = batch_norm_inputs(generator, cube, dtype, training, affine);
          const auto what =
              fmt::format("{} {}x{}x{}", to_string(dtype), cube.outer, cube.axis, cube.inner);
          const BatchNormResults found = batch_norm_on(kGpu, inputs);
          expect_batch_norms_close(found, batch_norm_on(Device::cpu(), inputs), what, 20);
          const BatchNormResults again = batch_norm_on(kGpu, inputs);
          expect_same_bytes(again.out, found.out, what);
          expect_same_bytes(again.in_gradient, found.in_gradient, what);
          expect_same_bytes(again.running_variance, found.running_variance, what);
        }
      }
    }
  }
}

}  // namespace
}  // namespace causeway
