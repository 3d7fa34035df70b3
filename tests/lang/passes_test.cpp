// Passes, structural hashes and the text of emitted kernels.
#include "causeway/lang/passes/passes.h"

#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"

#include <gtest/gtest.h>

namespace {

using namespace causeway::lang;

Module plain(const std::string& body) {
  CompileOptions options;
  options.optimize = false;
  return compile("k.py",
                 "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):\n "
                 "   i = wp.tid()\n    " +
                     body + "\n",
                 options);
}

std::size_t count(const Function& function, Op op, BlockId block = 0) {
  std::size_t n = 0;
  for (const ValueId id : function.blocks[block].insts) {
    n += function[id].op == op;
    for (const BlockId inner : function[id].blocks) {
      if (inner != kAbsent) n += count(function, op, inner);
    }
  }
  return n;
}

TEST(LangPasses, DropsUnreachableStatements) {
  for (const char* rest : {"break", "continue", "return", "y[i] = 3.0", "w = x[i]; w += 1.0"}) {
    const Module module =
        plain("while True:\n        if x[i] > 4.0:\n            break\n            " +
              std::string(rest) + "\n    y[i] = 1.0\n    return\n    y[i] = 2.0");
    EXPECT_EQ(verify(module, module.functions[0]), "") << rest;
    EXPECT_EQ(count(module.functions[0], Op::store), 1U) << rest;
    EXPECT_EQ(count(module.functions[0], Op::leave), 1U) << rest;
  }
}

TEST(LangPasses, FoldsConstants) {
  Module module = plain(
      "if 2 * 3 > 7:\n        y[i] = 1.0\n    else:\n        y[i] = x[i] * (0.5 + 0.25) * 1.0");
  fold_constants(module, module.functions[0]);
  drop_dead_code(module, module.functions[0]);
  EXPECT_EQ(count(module.functions[0], Op::branch), 0U);
  EXPECT_EQ(count(module.functions[0], Op::mul), 1U);
  EXPECT_EQ(count(module.functions[0], Op::store), 1U);
  EXPECT_EQ(verify(module, module.functions[0]), "");
}

TEST(LangPasses, KeepsDivisionByZeroAndTranscendentals) {
  Module module = plain("y[i] = wp.sin(1.0) + float((2 + 1) % (n - n))");
  fold_constants(module, module.functions[0]);
  EXPECT_EQ(count(module.functions[0], Op::sin), 1U);
  EXPECT_EQ(count(module.functions[0], Op::mod), 1U);
}

TEST(LangPasses, MergesWhatIsComputedTwice) {
  Module module = plain("y[i] = (x[i] + 1.0) * (x[i] + 1.0) + y[i] * y[i]");
  merge_common(module, module.functions[0]);
  EXPECT_EQ(count(module.functions[0], Op::load),
            3U);  // y is written, so that it is read each time
  EXPECT_EQ(count(module.functions[0], Op::add), 2U);
  EXPECT_EQ(verify(module, module.functions[0]), "");
}

TEST(LangPasses, DropsDeadLoops) {
  Module module =
      plain("s = float(0.0)\n    for j in range(n):\n        s += x[j]\n    y[i] = 1.0");
  drop_dead_code(module, module.functions[0]);
  EXPECT_EQ(count(module.functions[0], Op::loop), 0U);
  EXPECT_EQ(count(module.functions[0], Op::load), 0U);
}

TEST(LangPasses, UnrollsUnderALimit) {
  Module module =
      plain("s = float(0.0)\n    for j in range(6, 0, -2):\n        s += x[j]\n    y[i] = s");
  Module same = module;
  unroll_loops(same, same.functions[0], 2);
  EXPECT_EQ(count(same.functions[0], Op::loop), 1U);
  unroll_loops(module, module.functions[0], 3);
  EXPECT_EQ(count(module.functions[0], Op::loop), 0U);
  EXPECT_EQ(count(module.functions[0], Op::load), 3U);
  EXPECT_EQ(verify(module, module.functions[0]), "");
}

TEST(LangPasses, KnowsRanges) {
  Module module = plain(
      "a = i % 8\n    b = wp.min(wp.max(n, 3), 10) * 2 + a\n    for j in range(2, 9, 3):\n        "
      "y[b + j] = 1.0");
  const Function& function = module.functions[0];
  const std::vector<ValueRange> ranges = value_ranges(module, function, {100});
  bool seen = false;
  const auto expect = [&](ValueId id, ValueRange range) {
    EXPECT_EQ(ranges[id], range) << function[id].name;
  };
  for (const Block& block : function.blocks) {
    for (const ValueId id : block.insts) {
      const Inst& inst = function[id];
      if (inst.op == Op::tid) expect(id, {0, 99});
      if (inst.name == "a") expect(id, {0, 7});
      if (inst.name == "b") expect(id, {6, 27});
      if (inst.op == Op::loop) expect(id, {2, 8});
      if (inst.op == Op::store) {
        expect(function.arg(inst, 1), {8, 35});
        seen = true;
      }
    }
  }
  EXPECT_TRUE(seen);
}

std::uint64_t hash_of(const std::string& text) {
  const Module module = compile("k.py", text);
  return structural_hash(module, module.functions.back());
}

TEST(LangHash, IgnoresNamesAndConstants) {
  const std::uint64_t a = hash_of(
      "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * 2.0 + "
      "1.0\n");
  EXPECT_EQ(a, hash_of("@wp.kernel\ndef other(data: wp.array(dtype=float)):\n    t = wp.tid()\n\n  "
                       "  data[t] = data[t] * 3.5 + 9.0  # same\n"));
  EXPECT_NE(a, hash_of("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = "
                       "x[i] * 2.0 - 1.0\n"));
  EXPECT_NE(a, hash_of("@wp.kernel\ndef k(x: wp.array(dtype=wp.float64)):\n    i = wp.tid()\n    "
                       "x[i] = x[i] * wp.float64(2.0) + wp.float64(1.0)\n"));
}

TEST(LangEmit, ReadsLikeHandWrittenCuda) {
  const Module module = compile("k.py", R"(import warp as wp

@wp.kernel
def blur(src: wp.array2d(dtype=float), dst: wp.array2d(dtype=float), weight: float, n: int):
    i, j = wp.tid()
    if i == 0 or j == 0 or i + 1 >= n:
        return
    total = float(0.0)
    for k in range(-1, 2):
        total += src[i + k, j] * weight
    dst[i, j] = total if total > 0.5 else -total
)");
  EXPECT_EQ(
      emit(module, 0).text,
      R"(extern "C" __global__ void blur(const float* __restrict__ src, int src_shape1, float* dst, int dst_shape1, float weight, int n, int dim_x, int dim_y) {
  for (long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x; thread < (long long)dim_x * dim_y; thread += (long long)blockDim.x * gridDim.x) {
    const int i = (int)(thread / dim_y);
    const int j = (int)(thread % dim_y);
    if (i == 0 || j == 0 || i + 1 >= n) {
      continue;
    }
    float total = 0.0f;
    for (int k = -1; k < 2; ++k) {
      total += src[(i + k) * src_shape1 + j] * weight;
    }
    dst[i * dst_shape1 + j] = total > 0.5f ? total : -total;
  }
}
)");
  EmitOptions options;
  options.dialect = Dialect::cpp;
  options.strided = true;
  const Emitted cpp = emit(module, 0, options);
  EXPECT_NE(cpp.text.find("src[(i + k) * src_stride0 + j * src_stride1]"), std::string::npos)
      << cpp.text;
  EXPECT_EQ(cpp.params[1].kind, EmittedKind::stride);
}

TEST(LangEmit, LineMapPointsIntoTheSource) {
  const std::string text =
      "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    a = x[i] * 2.0\n    "
      "x[i] = a\n";
  const Module module = compile("k.py", text);
  const Emitted emitted = emit(module, 0);
  ASSERT_EQ(emitted.lines.size(), 2U);
  EXPECT_EQ(module.source->position(emitted.lines[0].span.begin).line, 4);
  EXPECT_EQ(module.source->position(emitted.lines[1].span.begin).line, 5);
  EXPECT_EQ(emitted.lines[0].line, 3);
  EXPECT_EQ(emitted.text.find("//"), std::string::npos);
}

TEST(LangEmit, NamesThatCppReserves) {
  const Module module = compile(
      "k.py",
      "@wp.kernel\ndef double(int_: wp.array(dtype=float), new: float):\n    auto = wp.tid()\n    "
      "dot = wp.dot(wp.vec2(new, 1.0), wp.vec2(2.0, new))\n    int_[auto] = dot\n");
  const std::string text = emit(module, module.find("double")).text;
  EXPECT_NE(text.find("void double_(float* int_, float new_, int dim)"), std::string::npos) << text;
  EXPECT_NE(text.find("const float dot_1 = dot(vec2{new_, 1.0f}"), std::string::npos) << text;
}

}  // namespace
