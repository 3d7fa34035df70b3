// How long compilation and checked execution take. Prints; fails only where something is an order
// of magnitude slower than it should be, since build machines differ.
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "tests/lang/gradient_check.h"

#include <gtest/gtest.h>

#include <time.h>

#include <cstdio>

namespace {

using namespace causeway::lang;

constexpr const char* kKernel = R"(import warp as wp

@wp.kernel
def integrate(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), w: wp.array(dtype=float), gravity: wp.vec3, dt: float):
    i = wp.tid()
    inv_mass = w[i]
    g = gravity * wp.where(inv_mass > 0.0, 1.0, 0.0)
    v1 = v[i] + (f[i] * inv_mass + g) * dt
    speed = wp.length(v1)
    if speed > 10.0:
        v1 = v1 * (10.0 / speed)
    x[i] = x[i] + v1 * dt
    v[i] = v1
)";

constexpr const char* kScalarKernel = R"(import warp as wp

@wp.kernel
def update(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float, n: int):
    i = wp.tid()
    if i >= n:
        return
    s = float(0.0)
    for j in range(4):
        s += x[i] * wp.sin(a + float(j))
    t = wp.exp(-s * s)
    y[i] = t * a + y[i]
)";

// Processor time of this thread: build machines are shared.
double seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double microseconds_each(const char* text, int n) {
  const double start = seconds();
  std::size_t bytes = 0;
  for (int i = 0; i < n; ++i) {
    Module module = compile("k.py", text);
    const int kernel = static_cast<int>(module.functions.size()) - 1;
    bytes += emit(module, kernel).text.size();
    bytes += emit(module, add_adjoint(module, kernel)).text.size();
  }
  EXPECT_GT(bytes, 0U);
  return (seconds() - start) * 1e6 / n;
}

TEST(LangSpeed, TextToCudaWithAdjoint) {
  for (const char* text : {kScalarKernel, kKernel}) {
    microseconds_each(text, 20);
    const double time = microseconds_each(text, 500);
    std::printf("10-line kernel, Python text to CUDA text with adjoint: %.1f us\n", time);
    EXPECT_LT(time, 3000);
  }
}

TEST(LangSpeed, GradientChecks) {
  const std::string text =
      std::string("# run update dim=32 x=u(-1,1)[32] y=u(-1,1)[32] a=0.5 n=32\n") + kScalarKernel;
  const auto runs = test::parse_runs("k.py", text);
  const double start = seconds();
  constexpr int kRuns = 200;
  for (int i = 0; i < kRuns; ++i) EXPECT_EQ(test::check_gradients(text, runs[0], 4).problem, "");
  std::printf("kernels compiled, interpreted and adjoint-checked: %.0f a second\n",
              kRuns / (seconds() - start));
}

}  // namespace
