// Launches on a CUDA device against the CPU, in graphs and profiles, tuned, and of CUDA text.
#include "causeway/jit/raw_kernel.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/profiler.h"
#include "tests/jit/small_kernels.h"

namespace {

using namespace causeway;
using namespace causeway::test;

// Arithmetic whose bits the language promises on every device.
TEST(GpuJitKernel, GivesTheBitsOfTheCpu) {
  REQUIRE_GPU();
  const Kernel k = kernel("a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)",
                          "i = wp.tid()\nv = x[i] * a + y[i]\nfor j in range(5):\n"
                          "    v = v / (1.0 + wp.abs(v)) + wp.sqrt(wp.abs(x[i]))\ny[i] = v");
  for (const std::int64_t n : {1, 31, 33, 100003}) {
    const Tensor x = numbers(n);
    const Tensor host = ones({n});
    const Tensor device = ones({n}, DType::f32, Device::cuda());
    k.launch({n}, {1.25, x, host});
    k.launch({n}, {1.25, x.to(Device::cuda()), device});
    EXPECT_EQ(host.to_vector<float>(), device.to(Device::cpu()).to_vector<float>());
  }
}

TEST(GpuJitKernel, StridesOverlapsAndBlocks) {
  REQUIRE_GPU();
  const Kernel k = kernel("x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)",
                          "i, j = wp.tid()\ny[i, j] = x[i, j] * 2.0");
  const Tensor x = numbers(35, Device::cuda()).reshape({5, 7});
  const Tensor y = zeros({7, 5}, DType::f32, Device::cuda()).transpose();
  k.launch({5, 7}, {x, y});
  k.launch({5, 7}, {y, y});  // in place: x and y share memory
  const auto in = x.to(Device::cpu()).to_vector<float>();
  const auto out = y.to(Device::cpu()).contiguous().to_vector<float>();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 4 * in[i]);
  const Kernel sums = kernel(kTwoArrays, "i = wp.tid()\ny[i] = wp.block_sum(x[i])");
  const Tensor z = zeros({128}, DType::f32, Device::cuda());
  sums.launch({128}, {ones({128}, DType::f32, Device::cuda()), z});
  EXPECT_EQ(z.to(Device::cpu()).to_vector<float>()[100], 64.0F);
  jit::LaunchOptions options;
  options.block_size = 128;
  sums.launch({128}, {ones({128}, DType::f32, Device::cuda()), z}, options);
  EXPECT_EQ(z.to(Device::cpu()).to_vector<float>()[100], 128.0F);
}

// More elements than one wave of threads: the loop in the kernel reaches all of them.
TEST(GpuJitKernel, CoversLargeArrays) {
  REQUIRE_GPU();
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i] + y[i]");
  const std::int64_t n = (8 << 20) + 5;
  const Tensor y = ones({n}, DType::f32, Device::cuda());
  k.launch({n}, {ones({n}, DType::f32, Device::cuda()), y});
  EXPECT_EQ(y.to(Device::cpu()).to_vector<float>(),
            std::vector<float>(static_cast<std::size_t>(n), 2.0F));
}

TEST(GpuJitKernel, RefusesArraysOnTwoDevices) {
  REQUIRE_GPU();
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = x[i]");
  EXPECT_EQ(refusal(k, {3}, {ones({3}), ones({3}, DType::f32, Device::cuda())}),
            "[kernel k] argument \"y\": is on cuda:0, but \"x\" is on cpu");
}

TEST(GpuJitKernel, RunsInsideAGraphAndInProfiles) {
  REQUIRE_GPU();
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = y[i] + x[i]");
  const Tensor x = ones({1000}, DType::f32, Device::cuda());
  const Tensor y = zeros({1000}, DType::f32, Device::cuda());
  k.launch({1000}, {x, y});  // compiles and loads
  synchronize(Device::cuda());
  Stream stream(Device::cuda());
  const Graph graph = Graph::capture(stream, [&] { k.launch({1000}, {x, y}); });
  for (int i = 0; i < 3; ++i) graph.replay(stream);
  stream.view().synchronize();
  EXPECT_EQ(y.to(Device::cpu()).to_vector<float>()[999], 4.0F);
  profiler::start();
  k.launch({1000}, {x, y});
  profiler::stop();
  bool found = false;
  for (const auto& entry : profiler::report()) found = found || entry.name == "k";
  EXPECT_TRUE(found);
}

TEST(GpuJitKernel, TuningKeepsArrays) {
  REQUIRE_GPU();
  const Kernel k = kernel(kTwoArrays, "i = wp.tid()\ny[i] = y[i] + x[i]");
  const Tensor x = ones({1 << 20}, DType::f32, Device::cuda());
  const Tensor y = zeros({1 << 20}, DType::f32, Device::cuda());
  jit::LaunchOptions options;
  options.tune = true;
  k.launch({1 << 20}, {x, y}, options);
  k.launch({1 << 20}, {x, y}, options);
  EXPECT_EQ(y.to(Device::cpu()).to_vector<float>()[12345], 2.0F);  // measured on copies
}

TEST(GpuJitRawKernel, LaunchesCudaText) {
  REQUIRE_GPU();
  const jit::RawKernel k(R"(
extern "C" __global__ void k(const float* x, float* y, float a, int n) {
  extern __shared__ float row[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  row[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = a * row[threadIdx.x];
})",
                         "k");
  const Tensor x = ones({100}, DType::f32, Device::cuda());
  const Tensor y = zeros({100}, DType::f32, Device::cuda());
  GridSize size;
  size.grid[0] = 4;
  size.block[0] = 32;
  size.shared_bytes = 32 * sizeof(float);
  k.launch(current_stream(Device::cuda()), size, std::vector<jit::RawArgument>{x, y, 2.5F, 100});
  EXPECT_EQ(y.to(Device::cpu()).to_vector<float>()[99], 2.5F);
  EXPECT_THROW(jit::RawKernel("extern \"C\" __global__ void k() {}", "other")
                   .launch(current_stream(Device::cuda()), size, {}),
               Error);
}

}  // namespace
