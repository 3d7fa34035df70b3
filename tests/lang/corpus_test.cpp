// Every kernel of the corpus: IR that verifies and reads back, gradients against finite
// differences.
#include "tests/files.h"
#include "tests/lang/corpus.h"
#include "tests/lang/gradient_check.h"

#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/builtins/table.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/emit/warp.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace {

using namespace causeway::lang;
using namespace causeway::lang::test;

const std::vector<CorpusFile>& corpus() {
  static const auto* const files =
      new std::vector<CorpusFile>(read_corpus(causeway::test::test_folder() / "lang/corpus"));
  return *files;
}

TEST(LangCorpus, HasKernelsForEveryStatementAndBuiltin) {
  std::size_t n = 0;
  std::string all;
  for (const CorpusFile& file : corpus()) {
    n += file.runs.size();
    all += file.text;
  }
  EXPECT_GE(n, 150U);
  for (const Builtin& builtin : builtins()) {
    const bool not_callable =
        builtin.name == "select" || builtin.name == "cast" || builtin.group == "Block reductions";
    const bool spelled = builtin.name == "mul" || builtin.name == "floor_div";
    const bool later =
        builtin.name == "print" || builtin.name == "printf" || builtin.name == "div_approx";
    if (not_callable || spelled || later) continue;
    EXPECT_NE(all.find(std::string(builtin.name) + "("), std::string::npos)
        << builtin.name << " is in no kernel";
  }
}

TEST(LangCorpus, IrVerifiesAndReadsBack) {
  for (const CorpusFile& file : corpus()) {
    Module module = compile(file.name, file.text);
    const std::size_t n = module.functions.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (module.functions[i].kind == FunctionKind::kernel && file.name != "functions.py")
        add_adjoint(module, static_cast<int>(i));
    }
    for (const Function& function : module.functions) {
      EXPECT_EQ(verify(module, function), "") << file.name << " " << function.name;
    }
    const std::string text = print_ir(module);
    const Module again = read_ir(file.name + ".ir", text);
    ASSERT_EQ(again.functions.size(), module.functions.size());
    EXPECT_EQ(print_ir(again), text) << file.name;
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
      EXPECT_EQ(structural_hash(again, again.functions[i]),
                structural_hash(module, module.functions[i]))
          << module.functions[i].name;
    }
  }
}

TEST(LangCorpus, WarpTextCompilesToTheSameKernel) {
  int n = 0;
  for (const CorpusFile& file : corpus()) {
    const Module module = compile(file.name, file.text);
    for (const Function& function : module.functions) {
      if (function.kind != FunctionKind::kernel) continue;
      const std::string text = emit_warp(*module.source, function.name);
      SCOPED_TRACE(text);
      const Module again = compile("again.py", text);
      const int found = again.find(function.name);
      ASSERT_GE(found, 0);
      EXPECT_EQ(structural_hash(again, again.functions[static_cast<std::size_t>(found)]),
                structural_hash(module, function));
      EXPECT_EQ(emit(again, found).text,
                emit(module, static_cast<int>(&function - module.functions.data())).text);
      EXPECT_EQ(emit_warp(*again.source, function.name), text);
      ++n;
    }
  }
  EXPECT_GE(n, 150);
}

TEST(LangCorpus, WarpTextOfOurNames) {
  const Source source("k.py",
                      "import causeway as cw\n\nN = cw.constant(3)\n\n\n@cw.struct\nclass P:\n    "
                      "a: cw.vec3\n\n\n@cw.func\ndef late(p: P):\n    return early(p.a[0])\n\n\n"
                      "@cw.func\ndef early(x: float):\n    return -(x + 1.0) ** 2.0\n\n\n@cw.func\n"
                      "def unused(x: float):\n    return x\n\n\n@cw.kernel\ndef k(p: P, y: "
                      "cw.array(dtype=float)):\n    i = cw.tid()\n    y[i] = late(p) * float(N)\n");
  EXPECT_EQ(emit_warp(source, "k"),
            "import warp as wp\n\nN = wp.constant(3)\n\n\n@wp.struct\nclass P:\n    a: "
            "wp.vec3\n\n\n@wp.func\ndef late(p: P):\n    return early(p.a[0])\n\n\n@wp.func\n"
            "def early(x: float):\n    return -(x + 1.0) ** 2.0\n\n\n@wp.kernel\ndef k(p: P, y: "
            "wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = late(p) * float(N)\n");
  EXPECT_THROW(emit_warp(source, "other"), causeway::Error);
  const Source block(
      "b.py", "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[0] = wp.block_sum(1.0)\n");
  EXPECT_THROW(emit_warp(block, "k"), CompileError);
}

TEST(LangCorpus, GradientsAgreeWithFiniteDifferences) {
  int n = 0;
  for (const CorpusFile& file : corpus()) {
    for (const auto& run : file.runs) {
      if (!run.gradients) continue;
      const GradientCheck check = check_gradients(file.text, run);
      EXPECT_EQ(check.problem, "") << file.name << " " << run.kernel;
      n += check.n_derivatives;
    }
  }
  EXPECT_GT(n, 1000);
}

}  // namespace
