// Launches on the CPU: arguments, order of threads, interpreted and compiled forms.
#include "causeway/jit/cpu_kernel.h"
#include "causeway/jit/raw_kernel.h"
#include "tests/jit/small_kernels.h"

#include <array>

namespace {

using namespace causeway;
using namespace causeway::test;

TEST(JitTraits, FindsUsesOfArrays) {
  const Kernel k = kernel(
      "x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), n: "
      "wp.array(dtype=int)",
      "i = wp.tid()\ny[i] = x[i]\nwp.atomic_add(z, 0, x[i])\nj = wp.atomic_max(n, 0, i)");
  const auto& use = k.traits().arrays;
  EXPECT_TRUE(use[0].read && !use[0].written());
  EXPECT_TRUE(!use[1].read && use[1].stored);
  EXPECT_TRUE(!use[2].read && use[2].accumulated);
  EXPECT_TRUE(use[3].exchanged);
}

bool independent(const std::string& body) {
  return kernel("x: wp.array(dtype=float), y: wp.array2d(dtype=float)", body).traits().independent;
}

TEST(JitTraits, KnowsWhenOrderMatters) {
  EXPECT_TRUE(independent("i = wp.tid()\nx[i] = x[i] * 2.0"));
  EXPECT_TRUE(independent("i = wp.tid()\nfor j in range(9):\n    y[i, j] = y[i, j + 1] + x[j]"));
  EXPECT_TRUE(independent("i, j = wp.tid()\ny[i, j] = x[j]"));
  EXPECT_TRUE(independent("i = wp.tid()\nr = y[i]\nr[2] = x[0]"));
  EXPECT_FALSE(independent("i = wp.tid()\nx[i] = x[i + 1]"));
  EXPECT_FALSE(independent("i = wp.tid()\nx[0] = y[i, 0]"));
  EXPECT_FALSE(independent("i = wp.tid()\nwp.atomic_add(x, i, 1.0)"));
  EXPECT_FALSE(independent("i, j = wp.tid()\ny[j, i] = y[i, j]"));
  EXPECT_FALSE(independent("i = wp.tid()\nprint(x[i])"));
}

TEST(JitTraits, FindsLoops) {
  const auto loops = [](const std::string& body) {
    return kernel(kTwoArrays, body).traits().has_loops;
  };
  EXPECT_FALSE(loops("i = wp.tid()\nif x[i] > 0.0:\n    y[i] = x[i]"));
  EXPECT_TRUE(loops("i = wp.tid()\nfor j in range(i):\n    y[i] = x[j]"));
  EXPECT_TRUE(loops("i = wp.tid()\nwhile x[i] > 0.0:\n    x[i] = x[i] - 1.0"));
  EXPECT_TRUE(jit::make_kernel("k.py",
                               "@wp.func\ndef f(n: int):\n    s = int(0)\n    for j in range(n):\n"
                               "        s += j * j\n    return s\n"
                               "@wp.kernel\ndef k(y: wp.array(dtype=int)):\n    i = wp.tid()\n"
                               "    y[i] = f(i)\n",
                               "k")
                  .traits()
                  .has_loops);
}

TEST(JitKernel, RunsOnTheCpu) {
  const Kernel k = kernel("a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)",
                          "i = wp.tid()\ny[i] = a * x[i] + y[i]");
  for (const std::int64_t n : {1, 31, 64, 65, 10007}) {
    const Tensor x = numbers(n);
    const Tensor y = ones({n});
    EXPECT_TRUE(k.launch({n}, {2.0, x, y}));
    const auto in = x.to_vector<float>();
    const auto out = y.to_vector<float>();
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 2 * in[i] + 1);
  }
}

TEST(JitKernel, VectorsMatricesAndStrides) {
  const Kernel k = kernel(
      "s: wp.vec3, x: wp.array(dtype=wp.vec3), m: wp.mat22, y: "
      "wp.array2d(dtype=float)",
      "i, j = wp.tid()\ny[i, j] = wp.dot(x[i], s) + m[j, 1]");
  const Tensor x = numbers(12).reshape({4, 3});
  const Tensor y = zeros({2, 4}).transpose();  // strided
  const std::vector<kernels::Scalar> s{1.0, 10.0, 100.0};
  const std::vector<kernels::Scalar> m{1.0, 2.0, 3.0, 4.0};
  k.launch({4, 2}, {s, x, m, y});
  const auto in = x.to_vector<float>();
  const auto out = y.contiguous().to_vector<float>();
  EXPECT_FLOAT_EQ(out[1], in[0] + 10 * in[1] + 100 * in[2] + 4);
  EXPECT_FLOAT_EQ(out[6], in[9] + 10 * in[10] + 100 * in[11] + 2);
}

// The interpreter and the compiled text side by side, through several pieces and threads.
TEST(JitKernel, CompiledTextGivesTheSameBits) {
  if (jit::system_compiler().empty()) GTEST_SKIP() << "there is no C++ compiler";
  const char* const bodies[] = {
      "i = wp.tid()\ny[i] = wp.sqrt(wp.abs(x[i])) * x[i] + 1.0 / (x[i] + 3.0)",
      "i = wp.tid()\nwp.atomic_add(y, i % 7, x[i])",
      "i = wp.tid()\ns = float(0.0)\nfor j in range(i % 11):\n    s += x[j] * x[i]\ny[i] = s",
  };
  for (const char* body : bodies) {
    const Kernel k = kernel(kTwoArrays, body);
    const std::int64_t n = 40013;
    const Tensor x = numbers(n);
    const Tensor ours = ones({n});
    const Tensor theirs = ones({n});
    jit::LaunchOptions checked;
    checked.checked = true;
    k.launch(std::array{n}, std::array<Argument, 2>{x, ours}, checked);
    lang::EmitOptions options{lang::Dialect::cpp};
    options.ranges = true;
    const lang::Emitted text = k.emitted(options);
    const jit::NativeFunction call = jit::compile_native(text);
    const std::vector<Argument> arguments{x, theirs};
    const auto bound =
        jit::bind_arguments(k.module(), k.function(), k.traits(), arguments, Device::cpu(), false);
    jit::PackedArguments packed(k.module(), k.function(), text, bound, std::array{n});
    for (std::int64_t begin = 0; begin < n; begin += 10000) {
      packed.set_range(begin, std::min(begin + 10000, n));
      call(packed.addresses());
    }
    EXPECT_EQ(ours.to_vector<float>(), theirs.to_vector<float>()) << body;
    EXPECT_TRUE(jit::is_native_cached(text));
  }
}

TEST(JitKernel, RefusesWrongArguments) {
  const Kernel k = kernel("n: int, x: wp.array(dtype=float), y: wp.array2d(dtype=wp.vec3)",
                          "i = wp.tid()\nx[i] = y[i, n][0]");
  const Tensor x = zeros({4});
  const Tensor y = zeros({4, 2, 3});
  EXPECT_EQ(refusal(k, {4}, {1, x, y}), "");
  EXPECT_EQ(refusal(k, {4}, {1, x}), "[kernel k] takes 3 arguments, got 2");
  EXPECT_EQ(refusal(k, {4, 4}, {1, x, y}), "[kernel k] has 1 launch dimension, got dim=(4, 4)");
  EXPECT_EQ(refusal(k, {-1}, {1, x, y}),
            "[kernel k] launch dimensions are from 0 to 2147418111, got -1");
  EXPECT_EQ(refusal(k, {4}, {1, zeros({4}, DType::f64), y}),
            "[kernel k] argument \"x\": expected f32 for array(dtype=float32, ndim=1), got f64");
  EXPECT_EQ(refusal(k, {4}, {1, zeros({4, 1}), y}),
            "[kernel k] argument \"x\": expected a shape of 1 dimension, got (4, 1)");
  EXPECT_EQ(refusal(k, {4}, {1, x, zeros({4, 2, 4})}),
            "[kernel k] argument \"y\": expected a shape of 2 dimensions and then (3,), got (4, 2, "
            "4)");
  EXPECT_EQ(refusal(k, {4}, {1, x, zeros({3, 4, 2}).permute(std::array{1, 2, 0})}),
            "[kernel k] argument \"y\": the scalars of an element are not contiguous; pass "
            "x.contiguous()");
  EXPECT_EQ(refusal(k, {4}, {x, x, y}),
            "[kernel k] argument \"n\": expected a number or the numbers of a value, got a tensor");
  EXPECT_EQ(refusal(k, {4}, {1, 2, y}),
            "[kernel k] argument \"x\": expected a tensor or array, got a number");
  EXPECT_EQ(refusal(k, {4}, {1.5, x, y}),
            "[kernel k] argument \"n\": expected int32, got the float 1.5");
  EXPECT_EQ(refusal(k, {4}, {std::int64_t{1} << 40, x, y}),
            "[kernel k] argument \"n\": 1099511627776 is out of range for int32");
  jit::LaunchOptions options;
  options.block_size = 33;
  EXPECT_EQ(refusal(k, {4}, {1, x, y}, options),
            "[kernel k] a block has 32 to 1024 threads, a multiple of 32; got 33");
}

TEST(JitKernel, FindsKernelsByName) {
  const std::string two =
      "@wp.kernel\ndef first(x: wp.array(dtype=float)):\n    x[0] = 1.0\n"
      "@wp.kernel\ndef second(x: wp.array(dtype=float)):\n    x[0] = 1.0\n";
  const auto problem = [](const std::string& text, const std::string& name) {
    try {
      jit::make_kernel("k.py", text, name);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(problem(two, "second"), "");
  EXPECT_EQ(problem(two, "secnod"),
            "[kernel] k.py has no kernel \"secnod\"; did you mean \"second\"?");
  EXPECT_EQ(problem(two, "zzzzzz"),
            "[kernel] k.py has no kernel \"zzzzzz\"; there are first, second");
  EXPECT_EQ(problem(two, ""), "[kernel] k.py has 2 kernels; name one of first, second");
  EXPECT_EQ(problem("x = 1\n", ""),
            "[kernel] k.py has no kernel; write @cw.kernel before a function");
}

TEST(JitKernel, EmptyLaunchesDoNothing) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i]");
  EXPECT_TRUE(k.launch({0}, {zeros({0}), zeros({0})}));
  EXPECT_NE(refusal(k, {0}, {zeros({0}), zeros({0}, DType::f64)}), "");
}

TEST(JitKernel, CheckedLaunchesNameTheLine) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i + 1] = x[i]");
  jit::LaunchOptions checked;
  checked.checked = true;
  const std::string message = refusal(k, {3}, {zeros({3}), zeros({3})}, checked);
  EXPECT_EQ(message.substr(0, message.find('\n')),
            "k.py:4:5: error: index 3 is out of range for array \"y\" of shape (3)");
}

TEST(JitKernel, ArraysMayBeTheSame) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i] + 1.0");
  const Tensor both = zeros({90000});
  for (int i = 0; i < 3; ++i) k.launch({90000}, {both, both});
  EXPECT_EQ(both.to_vector<float>(), std::vector<float>(90000, 3.0F));
}

TEST(JitKernel, BlockReductionsNeedWholeBlocks) {
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = wp.block_sum(x[i])");
  const Tensor y = zeros({128});
  k.launch({128}, {ones({128}), y});
  EXPECT_EQ(y.to_vector<float>()[100], 64.0F);
  EXPECT_EQ(
      refusal(k, {100}, {ones({128}), y}),
      "[kernel k] reduces over blocks of 64 threads; the launch has 100, which is no multiple");
  jit::LaunchOptions options;
  options.block_size = 128;
  EXPECT_EQ(refusal(k, {128}, {ones({128}), y}, options),
            "[kernel k] reduces over blocks, which have 64 threads on the CPU; got a block size of "
            "128");
}

TEST(JitRawKernel, NeedsCuda) {
  const jit::RawKernel k("extern \"C\" __global__ void k(float* x) { x[0] = 1; }", "k");
  try {
    k.launch(current_stream(Device::cpu()), {}, std::vector<jit::RawArgument>{zeros({1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_EQ(std::string(error.what()), "[kernel k] CUDA text runs on a CUDA device only");
  }
}

}  // namespace
