// Gradients that are easily wrong, and what adjoint kernels look like.
#include "causeway/lang/adjoint/adjoint.h"

#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/interpret/interpreter.h"
#include "tests/lang/gradient_check.h"

#include <gtest/gtest.h>

namespace {

using namespace causeway::lang;

struct Adjoint {
  explicit Adjoint(const std::string& text)
      : module(compile("k.py", text)),
        kernel(module.find("k")),
        function(add_adjoint(module, kernel)) {}
  const Function& get() const { return module.functions[static_cast<std::size_t>(function)]; }
  Module module;
  int kernel;
  int function;
};

Argument array(std::vector<float>& values) {
  Argument argument;
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  argument.array = contiguous(values.data(), shape, 4);
  return argument;
}

Argument number(const int& value) {
  Argument argument;
  argument.value = &value;
  return argument;
}

constexpr const char* kProduct = R"(@wp.kernel
def k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    p = float(1.0)
    for j in range(n):
        p *= x[j]
    y[i] = p
)";

TEST(LangAdjoint, ProductInADynamicLoop) {
  const Adjoint adjoint(kProduct);
  std::vector<float> x{2, 2, 2};
  std::vector<float> y{0};
  std::vector<float> adj_x(3);
  std::vector<float> adj_y{1};
  const int n = 3;
  const std::int64_t dims[] = {1};
  const Argument arguments[] = {array(x), number(n), array(y), array(adj_x), array(adj_y)};
  Interpreter(adjoint.module, adjoint.function).launch(dims, arguments);
  EXPECT_EQ(adj_x, (std::vector<float>{4, 4, 4}));
}

TEST(LangAdjoint, WeightedMeanIsFinite) {
  const Adjoint adjoint(R"(@wp.kernel
def k(x: wp.array(dtype=float), w: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    total = float(0.0)
    weight = float(0.0)
    for j in range(n):
        total += x[j] * w[j]
        weight += w[j]
    y[0] = total / weight
)");
  std::vector<float> x{1, 2, 3};
  std::vector<float> w{1, 1, 2};
  std::vector<float> y{0};
  std::vector<float> adj_x(3);
  std::vector<float> adj_w(3);
  std::vector<float> adj_y{1};
  const int n = 3;
  const std::int64_t dims[] = {1};
  const Argument arguments[] = {array(x),     array(w),     number(n),   array(y),
                                array(adj_x), array(adj_w), array(adj_y)};
  Interpreter(adjoint.module, adjoint.function).launch(dims, arguments);
  EXPECT_EQ(adj_x, (std::vector<float>{0.25F, 0.25F, 0.5F}));
  EXPECT_EQ(adj_w, (std::vector<float>{-0.3125F, -0.0625F, 0.1875F}));
}

TEST(LangAdjoint, InPlaceUpdateReplacesTheGradient) {
  const Adjoint adjoint(
      "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * x[i]\n");
  EXPECT_EQ(adjoint.get().params[0].content, ArrayContent::before);
  std::vector<float> x{3, 5};
  std::vector<float> adj_x{1, 2};
  const std::int64_t dims[] = {2};
  const Argument arguments[] = {array(x), array(adj_x)};
  Interpreter(adjoint.module, adjoint.function).launch(dims, arguments);
  EXPECT_EQ(adj_x, (std::vector<float>{6, 20}));
}

TEST(LangAdjoint, UpdatesThatAreReadAgainNeedAScratchCopy) {
  const Adjoint adjoint(
      "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * x[i]\n    "
      "x[i] = x[i] * x[i]\n");
  EXPECT_EQ(adjoint.get().params[0].content, ArrayContent::scratch);
  const Adjoint extreme(
      "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    "
      "wp.atomic_max(y, 0, x[wp.tid()])\n");
  EXPECT_EQ(extreme.get().params[1].content, ArrayContent::after);
}

TEST(LangAdjoint, SumsNeedNoTape) {
  const Adjoint adjoint(R"(@wp.kernel
def k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(n):
        s += x[j] * x[j]
    y[i] = s
)");
  const Emitted text = emit(adjoint.module, adjoint.function);
  EXPECT_EQ(
      text.text,
      R"(extern "C" __global__ void adj_k(const float* __restrict__ x, int n, float* adj_x, const float* __restrict__ adj_y, int dim) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < dim; i += blockDim.x * gridDim.x) {
    float adj_s = adj_y[i];
    for (int j = n - 1; j > -1; --j) {
      const float t0 = adj_s * x[j];
      atomicAdd(&adj_x[j], t0 + t0);
    }
  }
}
)");
  const Emitted product = emit(Adjoint(kProduct).module, Adjoint(kProduct).function);
  EXPECT_NE(product.text.find("push(tape"), std::string::npos);
}

TEST(LangAdjoint, BlockReductions) {
  const std::string text = R"(# run k dim=128 x=u(-1,1)[2,100] y=z[128] z=z[2]
@wp.kernel
def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    t = wp.tid()
    i = t / 64
    lane = t % 64
    s = float(0.0)
    for j in range(lane, x.shape[1], 64):
        s += x[i, j] * x[i, j]
    total = wp.block_sum(s)
    largest = wp.block_max(wp.sin(x[i, lane]))
    if total > 0.0:
        y[t] = total * s + wp.exp(largest) * wp.block_min(s * largest)
    if lane == 0:
        z[i] = total * largest
)";
  const auto check = test::check_gradients(text, test::parse_runs("k.py", text)[0], 40);
  EXPECT_EQ(check.problem, "");
  EXPECT_GE(check.n_derivatives, 40);
}

TEST(LangAdjoint, EqualExtremesOfABlockShareTheGradient) {
  const Adjoint adjoint(
      "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n"
      "    y[i] = wp.block_max(x[i])\n");
  std::vector<float> x(64, 1);
  x[3] = x[60] = 2;
  std::vector<float> y(64);
  std::vector<float> adj_x(64);
  std::vector<float> adj_y(64, 0.25F);
  const std::int64_t dims[] = {64};
  const Argument arguments[] = {array(x), array(y), array(adj_x), array(adj_y)};
  Interpreter(adjoint.module, adjoint.function).launch(dims, arguments);
  std::vector<float> expected(64);
  expected[3] = expected[60] = 8;
  EXPECT_EQ(adj_x, expected);
}

// Where one thread lacks tape, its block leaves: the others would wait for it in the reduction.
TEST(LangAdjoint, ABlockLeavesTogether) {
  const Adjoint adjoint(R"(@wp.kernel
def k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    p = float(1.0)
    for j in range(i, n, 64):
        p *= x[j]
    y[i] = wp.block_sum(p)
)");
  const Emitted text = emit(adjoint.module, adjoint.function);
  EXPECT_NE(text.text.find("if (__syncthreads_or(tape.top > tape.capacity)) {"), std::string::npos);
}

TEST(LangAdjoint, IntegersHaveNoGradient) {
  const Adjoint adjoint(
      "@wp.kernel\ndef k(x: wp.array(dtype=int), n: int, a: float):\n    x[wp.tid()] = n\n");
  ASSERT_EQ(adjoint.get().params.size(), 4U);
  EXPECT_EQ(adjoint.get().params[3].name, "adj_a");
  EXPECT_EQ(adjoint.get().params[3].role, ParamRole::gradient);
}

}  // namespace
