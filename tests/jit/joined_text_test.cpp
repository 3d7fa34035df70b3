// Many kernels in one text: what is shared, what is not, and what NVRTC says about it.
#include "causeway/jit/batch.h"
#include "causeway/jit/joined_text.h"
#include "causeway/jit/kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace {

using namespace causeway;

// y = f(x) + g(x) with vectors, where g calls f.
lang::Emitted kernel_with(const std::string& entry, const std::string& f) {
  const std::string text = fmt::format(R"(
@wp.func
def f(v: wp.vec3):
    return {}

@wp.func
def g(v: wp.vec3):
    return f(v) * 3.0

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = f(x[i]) + g(x[i])
)",
                                       f);
  lang::EmitOptions options;
  options.entry = entry;
  return jit::make_kernel("k.py", text, "k").emitted(options);
}

std::vector<lang::Emitted> kernels() {
  return {kernel_with("a", "v * 2.0"), kernel_with("b", "v * 2.0"), kernel_with("c", "v * 5.0")};
}

std::string joined(const std::vector<lang::Emitted>& kernels, jit::Definitions definitions) {
  std::vector<std::size_t> all(kernels.size());
  std::iota(all.begin(), all.end(), 0);
  return jit::joined_text(kernels, all, definitions);
}

int count(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

TEST(JoinedText, SharesWhatHasTheSameTextAndSeesTheSame) {
  const std::string separate = joined(kernels(), jit::Definitions::separate);
  EXPECT_EQ(count(separate, "struct vec3 {"), 3);
  EXPECT_EQ(count(separate, "vec3 g(vec3 v) {"), 3);
  const std::string shared = joined(kernels(), jit::Definitions::shared);
  EXPECT_EQ(count(shared, "struct vec3 {"), 1);
  EXPECT_EQ(count(shared, "vec3 operator*("), 1);
  EXPECT_EQ(count(shared, "vec3 f(vec3 v) {"), 2);
  EXPECT_EQ(count(shared, "vec3 g(vec3 v) {"), 2);  // of the same text, but they call two functions
  EXPECT_EQ(count(shared, "__global__"), 3);
}

TEST(JoinedText, KernelsWithTheSameDefinitionsAreNeighbours) {
  std::vector<lang::Emitted> list = kernels();
  std::swap(list[1], list[2]);
  const std::vector<std::size_t> order = jit::order_by_definitions(list);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 2, 1}));
}

TEST(JoinedText, LongProgramsComeFirst) {
  std::vector<lang::Emitted> list;
  for (int i = 0; i < 40; ++i)
    list.push_back(kernel_with(fmt::format("k_{}", i), i < 30 ? "v * 2.0" : "v * 2.0 + v * 3.0"));
  std::vector<std::size_t> all;
  std::vector<std::size_t> sizes;
  for (const jit::Members& program : jit::divide(list, 4)) {
    all.insert(all.end(), program.begin(), program.end());
    sizes.push_back(0);
    for (const std::size_t i : program) sizes.back() += list[i].text.size();
  }
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>()));
  EXPECT_GT(sizes.size(), 1U);
  std::ranges::sort(all);
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(all.at(i), i);
}

std::vector<jit::BatchResult> compiled_together(const std::vector<lang::Emitted>& list) {
  jit::CudaOptions options;
  options.fast_compile = true;
  options.kind = jit::CodeKind::ptx;
  return jit::compile_batch(list, options, list.size());
}

TEST(JoinedText, CompilesInOneProgram) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  const auto results = compiled_together(kernels());
  ASSERT_NE(results[0].code, nullptr);
  EXPECT_EQ(results[0].code, results[1].code);
  EXPECT_EQ(results[0].code, results[2].code);
}

// NVRTC refuses a kernel that defines a function twice; shared with itself, it would compile.
TEST(JoinedText, ARepeatedDefinitionIsRefused) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  std::vector<lang::Emitted> list = kernels();
  lang::Emitted& wrong = list[1];
  const std::size_t begin = wrong.text.rfind("__device__", wrong.kernel_begin);
  const std::string last = wrong.text.substr(begin, wrong.kernel_begin - begin);
  wrong.text.insert(wrong.kernel_begin, last);
  wrong.kernel_begin += last.size();
  const auto results = compiled_together(list);
  EXPECT_NE(results[0].code, nullptr);
  EXPECT_EQ(results[1].code, nullptr);
  EXPECT_NE(results[1].log.find("has already been defined"), std::string::npos) << results[1].log;
  EXPECT_NE(results[2].code, nullptr);
}

// An error inside of a definition that others share is reported for the kernels that have it.
TEST(JoinedText, AWrongDefinitionIsRefusedWhereItOccurs) {
  if (const auto nvrtc = jit::nvrtc_status(); nvrtc.version.empty()) GTEST_SKIP() << nvrtc.absence;
  std::vector<lang::Emitted> list = kernels();
  for (const std::size_t i : {0U, 1U})
    list[i].text.replace(list[i].text.find("return f(v)"), 11, "return h(v)");
  const auto results = compiled_together(list);
  EXPECT_EQ(results[0].code, nullptr);
  EXPECT_EQ(results[1].code, nullptr);
  EXPECT_NE(results[1].log.find("\"h\" is undefined"), std::string::npos) << results[1].log;
  EXPECT_NE(results[2].code, nullptr);
}

}  // namespace
