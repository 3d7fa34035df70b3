// Parts of the language that are rare in the corpus: block reductions, printf, Any, views of
// strided arrays, small atomics; and interrupts.
#include "causeway/core/interrupt.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/interpret/interpreter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace {

using namespace causeway::lang;

// Runs k(x, y) over floats and returns y.
std::vector<float> run(const std::string& text, std::vector<float> x, std::int64_t threads,
                       std::size_t n_results) {
  const Module module = compile("k.py", text);
  std::vector<float> y(n_results);
  Argument arguments[2];
  const std::int64_t shapes[] = {static_cast<std::int64_t>(x.size()),
                                 static_cast<std::int64_t>(y.size())};
  arguments[0].array = contiguous(x.data(), std::span(shapes, 1), 4);
  arguments[1].array = contiguous(y.data(), std::span(shapes + 1, 1), 4);
  Interpreter(module, module.find("k")).launch(std::span(&threads, 1), arguments);
  return y;
}

std::string kernel(const std::string& body, const std::string& element = "float") {
  return "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=" + element +
         ")):\n    i = wp.tid()\n" + body;
}

TEST(LangFeatures, BlockReductions) {
  std::vector<float> x(100);
  std::iota(x.begin(), x.end(), 1.0F);
  const auto reduced = [&](const std::string& name) {
    return run(kernel("    y[i] = wp." + name + "(x[i])\n"), x, 100, 100);
  };
  // Blocks are 64 threads: 1 … 64, and 65 … 100.
  const std::vector<float> sums = reduced("block_sum");
  const std::vector<float> least = reduced("block_min");
  const std::vector<float> most = reduced("block_max");
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(sums[i], i < 64 ? 2080.0F : 2970.0F) << i;
    ASSERT_EQ(least[i], i < 64 ? 1.0F : 65.0F) << i;
    ASSERT_EQ(most[i], i < 64 ? 64.0F : 100.0F) << i;
  }
}

TEST(LangFeatures, PrintfIsEmitted) {
  const Module module =
      compile("k.py", kernel("    if i == 1:\n        wp.printf(\"%d: %.2f\\n\", i, x[i])\n        "
                             "print(x[i])\n    y[i] = x[i]\n"));
  for (const Dialect dialect : {Dialect::cuda, Dialect::cpp}) {
    EmitOptions options;
    options.dialect = dialect;
    const std::string text = emit(module, module.find("k"), options).text;
    EXPECT_NE(text.find(R"(printf("%d: %.2f\n", i, t0);)"), std::string::npos) << text;
    EXPECT_NE(text.find(R"(printf("%g\n", t0);)"), std::string::npos) << text;
  }
}

TEST(LangFeatures, AnyTakesEachTypeItIsCalledWith) {
  const std::string text =
      "from typing import Any\n\n\n@wp.func\ndef twice(v: Any):\n    return v + v\n\n\n" +
      kernel("    y[i] = twice(x[i]) + float(twice(i)) + twice(wp.vec2(x[i], 1.0))[1]\n");
  EXPECT_EQ(run(text, {1.0F, 2.5F}, 2, 2), (std::vector<float>{4.0F, 9.0F}));
}

TEST(LangFeatures, ViewsOfStridedArrays) {
  const Module module =
      compile("k.py",
              "@wp.func\ndef total(row: wp.array(dtype=float)):\n    sum = float(0.0)\n"
              "    for j in range(row.shape[0]):\n        sum += row[j]\n    return sum\n\n\n"
              "@wp.kernel\ndef k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n"
              "    i = wp.tid()\n    row = x[i]\n    y[i] = total(row) + 10.0 * row[1]\n");
  std::vector<float> x = {0, 10, 20, 1, 11, 21, 2, 12, 22};  // column-major, 3 x 3
  std::vector<float> y(3);
  Argument arguments[2];
  arguments[0].array = {x.data(), {3, 3}, {4, 12}};
  const std::int64_t n = 3;
  arguments[1].array = contiguous(y.data(), std::span(&n, 1), 4);
  Interpreter(module, module.find("k")).launch(std::span(&n, 1), arguments);
  EXPECT_EQ(y, (std::vector<float>{13, 143, 273}));
  EmitOptions strided;
  strided.strided = true;
  const std::string text = emit(module, module.find("k"), strided).text;
  EXPECT_NE(text.find("x_stride1"), std::string::npos) << text;
}

TEST(LangFeatures, AtomicsOnBytesAreRefusedInCuda) {
  const Module module =
      compile("k.py", kernel("    wp.atomic_add(y, 0, wp.uint8(x[i]))\n", "wp.uint8"));
  try {
    emit(module, module.find("k"));
    FAIL() << "emitted";
  } catch (const causeway::Error& error) {
    EXPECT_EQ(error.kind(), causeway::ErrorKind::compile);
    EXPECT_NE(std::string(error.what()).find("8-bit elements are not available in CUDA"),
              std::string::npos);
  }
  EmitOptions cpp;
  cpp.dialect = Dialect::cpp;
  EXPECT_NE(emit(module, module.find("k"), cpp).text.find("+="), std::string::npos);
}

TEST(LangFeatures, InterruptsEndLongLaunches) {
  const causeway::Interruptible on;
  for (const char* body : {"    while True:\n        y[0] = x[0]\n", "    y[0] = x[0]\n"}) {
    std::jthread other([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      causeway::request_interrupt();
    });
    const std::int64_t many = std::int64_t{1} << 40;
    try {
      run(kernel(body), {1.0F}, many, 1);
      ADD_FAILURE() << "not interrupted";
    } catch (const causeway::Error& error) {
      EXPECT_EQ(error.kind(), causeway::ErrorKind::interrupted);
    }
    other.join();
    causeway::clear_interrupt();
  }
}

}  // namespace
