// NVRTC without a GPU: code, refusals mapped to Python lines, many kernels in one program.
#include "causeway/jit/batch.h"
#include "causeway/jit/kernel.h"
#include "causeway/jit/line_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace {

using namespace causeway;

#define REQUIRE_NVRTC()                                                \
  if (const auto status = jit::nvrtc_status(); status.version.empty()) \
  GTEST_SKIP() << status.absence

std::string text_of(const jit::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const char* const kSaxpy = R"(
@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
)";

TEST(Nvrtc, CompilesKernels) {
  REQUIRE_NVRTC();
  const lang::Emitted cuda = jit::make_kernel("k.py", kSaxpy, "saxpy").emitted();
  jit::CudaOptions options;
  const jit::Bytes cubin = jit::compile_cuda({"saxpy.cu", cuda.text}, options);
  EXPECT_EQ(text_of(cubin).substr(1, 3), "ELF");
  options.kind = jit::CodeKind::ptx;
  const std::string ptx = text_of(jit::compile_cuda({"saxpy.cu", cuda.text}, options));
  EXPECT_NE(ptx.find(".visible .entry saxpy("), std::string::npos);
  EXPECT_NE(ptx.find(".target sm_90"), std::string::npos);
  EXPECT_EQ(ptx.find("fma.rn.f32"), std::string::npos);  // not contracted
  options.contract = true;
  EXPECT_NE(text_of(jit::compile_cuda({"saxpy.cu", cuda.text}, options)).find("fma.rn.f32"),
            std::string::npos);
}

TEST(Nvrtc, CompilesHalfPrecision) {
  REQUIRE_NVRTC();
  const lang::Emitted cuda = jit::make_kernel("k.py", R"(
@wp.kernel
def half(x: wp.array(dtype=wp.float16)):
    i = wp.tid()
    x[i] = x[i] + wp.float16(1.0)
)",
                                              "half")
                                 .emitted();
  EXPECT_TRUE(cuda.uses_half);
  EXPECT_FALSE(jit::compile_cuda({"half.cu", cuda.text}).empty());
}

TEST(Nvrtc, ReportsRefusals) {
  REQUIRE_NVRTC();
  try {
    jit::compile_cuda({"bad.cu", "extern \"C\" __global__ void k() {\n  nonsense();\n}\n"});
    FAIL();
  } catch (const jit::CudaCompileError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::compile);
    EXPECT_NE(std::string(error.what()).find("[NVRTC] \"bad.cu\" does not compile"),
              std::string::npos);
    EXPECT_NE(error.log().find("bad.cu(2): error"), std::string::npos);
  }
}

TEST(LineMap, NamesThePythonLine) {
  const jit::Kernel kernel = jit::make_kernel("k.py", kSaxpy, "saxpy");
  const lang::Emitted cuda = kernel.emitted();
  int line = 1;  // of the store
  for (std::size_t at = 0; at < cuda.text.find("y[i] ="); ++at) line += cuda.text[at] == '\n';
  EXPECT_EQ(jit::source_line(kernel.module(), cuda, line), 5);
  const std::string log = fmt::format("saxpy.cu({}): error: no\nhint\n", line);
  EXPECT_EQ(jit::with_python_lines(kernel.module(), cuda, log),
            fmt::format("k.py:5: saxpy.cu({}): error: no\nhint", line));
}

// Kernels whose functions and types share their names.
std::vector<lang::Emitted> family(int n) {
  std::vector<lang::Emitted> kernels;
  for (int i = 0; i < n; ++i) {
    const std::string text = fmt::format(R"(
@wp.struct
class Pair:
    a: float
    b: float

@wp.func
def f(x: float):
    return x * {0}.5 + {0}.0

@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    p = Pair()
    p.a = f(x[i])
    p.b = x[i]
    if p.a > {0}.0:
        y[i] = p.a + p.b
    else:
        y[i] = p.a - p.b
)",
                                         i);
    lang::EmitOptions options;
    options.entry = fmt::format("k_{}", i);
    kernels.push_back(jit::make_kernel("k.py", text, "k").emitted(options));
  }
  return kernels;
}

TEST(Batch, ManyKernelsInOneProgram) {
  REQUIRE_NVRTC();
  jit::CudaOptions options;
  options.fast_compile = true;
  std::vector<lang::Emitted> kernels = family(5);
  kernels[3].text += "void broken( {\n";
  const auto results = jit::compile_batch(kernels, options, 3);
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results[0].code, results[2].code);
  EXPECT_NE(text_of(*results[0].code).find("k_1"), std::string::npos);
  EXPECT_EQ(results[3].code, nullptr);
  EXPECT_NE(results[3].log.find("error"), std::string::npos);
  EXPECT_NE(results[4].code, nullptr);
  kernels[1].entry = "k_0";
  EXPECT_THROW(jit::compile_batch(kernels, options), Error);
}

// The PTX from a line that begins with `head` to the end of the function.
std::string function_in(const std::string& ptx, const std::string& head) {
  const std::size_t begin = ptx.find(head);
  return begin == std::string::npos ? "" : ptx.substr(begin, ptx.find("\n}\n", begin) - begin);
}

lang::Emitted math_kernel(const std::string& entry, const std::string& expression) {
  const std::string text = fmt::format(R"(
@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = {}
)",
                                       expression);
  lang::EmitOptions options;
  options.entry = entry;
  return jit::make_kernel("k.py", text, "k").emitted(options);
}

TEST(Batch, CallsMathFunctions) {
  REQUIRE_NVRTC();
  jit::CudaOptions options;
  options.call_math = true;
  options.kind = jit::CodeKind::ptx;
  options.others = {"--Ofast-compile=mid"};  // of fast_compile for cubins
  const std::vector<lang::Emitted> kernels{
      math_kernel("a", "wp.pow(x[i], 2.0) * y[i] + wp.sin(y[i])"),
      math_kernel("b", "wp.pow(x[i], y[i]) + wp.sin(2.0)")};
  const std::string alone =
      text_of(*jit::compile_batch(std::span(kernels).first(1), options, 1)[0].code);
  const std::string both = text_of(*jit::compile_batch(kernels, options, 2)[0].code);
  // Once in the program, for both kernels, and not the functions that nobody calls.
  EXPECT_NE(both.find("called_sinf"), std::string::npos);
  EXPECT_EQ(both.find("called_cosf"), std::string::npos);
  const std::string a = function_in(alone, ".visible .entry a(");
  EXPECT_NE(a.find("call.uni"), std::string::npos);
  EXPECT_EQ(a.find("fma.rn"), std::string::npos);  // not contracted
  options.call_math = false;
  EXPECT_LT(3 * a.size(), function_in(text_of(*jit::compile_batch(kernels, options, 2)[0].code),
                                      ".visible .entry a(")
                              .size());
  // The constant of one kernel's call does not change the function, nor do the other kernels.
  const auto without_name = [](std::string text) {  // of the file, which has a hash of the program
    for (std::size_t at = text.find("_INTERNAL_"); at != std::string::npos;
         at = text.find("_INTERNAL_", at)) {
      text.erase(at, text.find("called_", at) - at);
    }
    return text;
  };
  EXPECT_EQ(without_name(a), without_name(function_in(both, ".visible .entry a(")));
}

TEST(Batch, TextsThatRenamedMathWouldBreakCompileAsTheyAre) {
  REQUIRE_NVRTC();
  jit::CudaOptions options;
  options.call_math = true;
  std::vector<lang::Emitted> kernels{math_kernel("a", "wp.sin(x[i])"),
                                     math_kernel("b", "wp.cos(x[i])")};
  kernels[1].text = "extern \"C\" __global__ void b(float* x) { x[0] = ::sinf(x[1]); }\n";
  EXPECT_NE(jit::compile_batch(kernels, options, 2)[1].code, nullptr);
  kernels[1].text = "extern \"C\" __global__ void b(float* x) { x[0] = called_sin(x); }\n";
  const auto results = jit::compile_batch(kernels, options, 2);
  EXPECT_NE(results[0].code, nullptr);
  EXPECT_EQ(results[1].code, nullptr);
}

TEST(Batch, ProgramsShrinkTowardsTheEnd) {
  std::vector<std::size_t> sizes;
  for (std::size_t rest = 4000; rest > 0; rest -= sizes.back())
    sizes.push_back(jit::program_size(rest, 16));
  EXPECT_EQ(sizes.front(), 192U);
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>()));
  EXPECT_LE(sizes[sizes.size() - 2], 16U);
  EXPECT_LT(sizes.size(), 70U);
  EXPECT_EQ(jit::program_size(5, 16), 5U);
  EXPECT_EQ(jit::program_size(1000, 1), 192U);
}

}  // namespace
