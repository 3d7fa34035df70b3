// Gradients of launches, on the CPU and on a CUDA device.
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/tape.h"
#include "causeway/jit/differentiable.h"
#include "causeway/jit/native.h"
#include "tests/jit/small_kernels.h"

#include <array>
#include <cmath>

namespace {

using namespace causeway;
using namespace causeway::test;

Tensor leaf(const Tensor& values) {
  Tensor x = values.clone();
  autograd::set_requires_grad(x, true);
  return x;
}

// The tracked handle of the only written array.
Tensor tracked(const Kernel& k, std::int64_t n, const std::vector<Argument>& arguments) {
  const auto written = jit::launch_differentiable(k, std::array{n}, arguments);
  EXPECT_EQ(written.size(), 1U);
  return written.at(0).tensor;
}

void check_gradients(Device device) {
  const std::int64_t n = 33;
  const Kernel square = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i] * x[i]");
  Tensor x = leaf(numbers(n, device));
  Tensor y = tracked(square, n, {x, zeros({n}, DType::f32, device)});
  autograd::backward(autograd::sum(y));
  const auto in = x.to_vector<float>();
  const auto gradient = autograd::gradient_of(x)->to_vector<float>();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_FLOAT_EQ(gradient[i], 2 * in[i]);

  // In place, twice: y <- y * x <- (y * x) * x.
  const Kernel scale = kernel(kTwoArrays, "i = wp.tid()\ny[i] = y[i] * x[i]");
  Tensor a = leaf(numbers(n, device));
  y = tracked(scale, n, {a, ones({n}, DType::f32, device)});
  y = tracked(scale, n, {a, y});
  autograd::backward(autograd::sum(y));
  const auto twice = autograd::gradient_of(a)->to_vector<float>();
  const auto of = a.to_vector<float>();
  for (std::size_t i = 0; i < of.size(); ++i) ASSERT_FLOAT_EQ(twice[i], 2 * of[i]);

  // The same, with the input and the output in one memory.
  Tensor c = leaf(numbers(n, device));
  const Tensor shared = autograd::multiply(c, Scalar(1.0));
  y = tracked(square, n, {shared, shared});
  autograd::backward(autograd::sum(y));
  const auto both = autograd::gradient_of(c)->to_vector<float>();
  const auto old = c.to_vector<float>();
  for (std::size_t i = 0; i < old.size(); ++i) ASSERT_FLOAT_EQ(both[i], 2 * old[i]);

  // Sums by atomics keep the gradient of what was there before.
  const Kernel total = kernel(kTwoArrays, "i = wp.tid()\nwp.atomic_add(y, 0, x[i] * 3.0)");
  Tensor b = leaf(numbers(n, device));
  const Tensor start = autograd::multiply(leaf(ones({1}, DType::f32, device)), Scalar(2.0));
  Tensor sum = tracked(total, n, {b, start});
  autograd::backward(autograd::sum(sum));
  EXPECT_FLOAT_EQ(autograd::gradient_of(b)->to_vector<float>()[5], 3);
}

TEST(JitGradient, FollowsLaunches) { check_gradients(Device::cpu()); }

// A loop whose values cannot be computed again: the tape grows and the launch is repeated.
Kernel looping_kernel() {
  return kernel("n: int, " + std::string(kTwoArrays),
                "i = wp.tid()\nv = float(1.0)\nfor j in range(n):\n"
                "    v = wp.sin(v * x[i]) + 1.0\ny[i] = v");
}

void check_tape(const Kernel& k, Device device) {
  const int trips = 3000;
  Tensor x = leaf(full({2}, Scalar(0.3), DType::f32, device));
  const Tensor y = tracked(k, 2, {trips, x, zeros({2}, DType::f32, device)});
  autograd::backward(autograd::sum(y));
  double v = 1;
  double slope = 0;
  for (int j = 0; j < trips; ++j) {
    slope = std::cos(v * 0.3) * (slope * 0.3 + v);
    v = std::sin(v * 0.3) + 1;
  }
  EXPECT_NEAR(autograd::gradient_of(x)->to_vector<float>()[1], slope, 1e-4);
}

TEST(JitGradient, KeepsValuesOfLoops) { check_tape(looping_kernel(), Device::cpu()); }

TEST(JitGradient, GrowsTheTapeOfCompiledText) {
  if (jit::system_compiler().empty()) GTEST_SKIP() << "there is no C++ compiler";
  const Kernel k = looping_kernel();
  EXPECT_TRUE(k.adjoint().traits().uses_tape);
  lang::EmitOptions options{lang::Dialect::cpp};
  options.ranges = true;
  jit::compile_native(k.adjoint().emitted(options));  // into the cache, where the launch finds it
  check_tape(k, Device::cpu());
}

TEST(JitGradient, RefusesWritesToLeaves) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i]");
  const Tensor y = leaf(zeros({3}));
  try {
    jit::launch_differentiable(k, std::array<std::int64_t, 1>{3},
                               std::vector<Argument>{ones({3}), y});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "[kernel k] argument \"y\" is a leaf that requires a gradient, and the kernel writes "
              "it; pass a copy, or launch inside no_grad()");
  }
}

TEST(JitGradient, ChangedInputsAreAnError) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i] * x[i]");
  Tensor x = leaf(ones({3}));
  const Tensor y = tracked(k, 3, {x, zeros({3})});
  x.copy_from(zeros({3}));
  EXPECT_THROW(autograd::backward(autograd::sum(y)), Error);
}

TEST(GpuJitGradient, FollowsLaunches) {
  REQUIRE_GPU();
  check_gradients(Device::cuda());
  check_tape(looping_kernel(), Device::cuda());
}

}  // namespace
