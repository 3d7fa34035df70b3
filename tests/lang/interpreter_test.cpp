// Checks at run time, strides, step limits and lanes.
#include "causeway/lang/interpret/interpreter.h"

#include "causeway/lang/compile.h"

#include <gtest/gtest.h>

#include <numeric>

namespace {

using namespace causeway::lang;

std::string fault(const std::string& text, std::vector<float> x, std::int64_t threads, int n,
                  InterpretOptions options = {}) {
  const Module module = compile("k.py", text);
  Argument arguments[2];
  const std::int64_t shape[] = {static_cast<std::int64_t>(x.size())};
  arguments[0].array = contiguous(x.data(), shape, 4);
  arguments[1].value = &n;
  try {
    Interpreter(module, module.find("k"), options).launch(std::span(&threads, 1), arguments);
  } catch (const causeway::Error& error) {
    EXPECT_EQ(error.kind(), causeway::ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

std::string kernel(const std::string& body) {
  return "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n    " + body +
         "\n";
}

TEST(LangInterpreter, NamesIndexArrayAndShape) {
  EXPECT_EQ(fault(kernel("x[i + 1] = 2.0"), {1, 2, 3}, 3, 0),
            "k.py:4:5: error: index 3 is out of range for array \"x\" of shape (3)\n"
            "      x[i + 1] = 2.0\n"
            "      ^~~~~~~~~~~~~~\n"
            "  found: index 3 in dimension 0\n"
            "  expected: 0 to 2");
  EXPECT_NE(fault(kernel("x[0] = x[i - 1]"), {1, 2, 3}, 3, 0).find("index -1 is out of range"),
            std::string::npos);
  EXPECT_EQ(fault(kernel("x[-1] = x[i]"), {1, 2, 3}, 3, 0), "");
}

TEST(LangInterpreter, FindsOtherFaults) {
  EXPECT_NE(fault(kernel("x[i] = float(7 // n)"), {1}, 1, 0).find("integer division by zero"),
            std::string::npos);
  EXPECT_NE(fault(kernel("assert n > 3, \"too small\""), {1}, 1, 2).find("assertion failed"),
            std::string::npos);
  EXPECT_NE(fault(kernel("if n > 0:\n        y = 1.0\n    x[i] = y"), {1}, 1, 0)
                .find("variable \"y\" is read before it is assigned"),
            std::string::npos);
  EXPECT_NE(fault(kernel("v = wp.vec3()\n    x[i] = v[n]"), {1}, 1, 3)
                .find("index is out of range for vec3f"),
            std::string::npos);
}

TEST(LangInterpreter, EndlessLoopsEnd) {
  InterpretOptions options;
  options.step_limit = 1000;
  EXPECT_NE(fault(kernel("while True:\n        pass"), {1}, 1, 0, options)
                .find("kernel \"k\" does not end"),
            std::string::npos);
}

TEST(LangInterpreter, UncheckedKernelsStayInsideTheirArrays) {
  InterpretOptions options;
  options.checked = false;
  EXPECT_EQ(fault(kernel("x[i + 100] = x[i + 100] + float(n // n)"), {1}, 3, 0, options), "");
}

TEST(LangInterpreter, ChecksTheLaunch) {
  const Module module = compile("k.py", kernel("x[i] = 1.0"));
  Interpreter interpreter(module, 0);
  const std::int64_t dims[] = {1, 1};
  EXPECT_THROW(interpreter.launch(dims, {}), causeway::Error);
  EXPECT_THROW(interpreter.launch(std::span(dims, 1), {}), causeway::Error);
  EXPECT_THROW(Interpreter(module, 3), causeway::Error);
}

TEST(LangInterpreter, StridesAndManyThreads) {
  const Module module =
      compile("k.py",
              "@wp.kernel\ndef k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n    i, j "
              "= wp.tid()\n    y[i * 5 + j] = x[i, j]\n");
  for (const std::int64_t rows : {1, 13, 31, 32, 33, 1001}) {
    std::vector<float> x(static_cast<std::size_t>(rows * 5));
    std::iota(x.begin(), x.end(), 0.0F);
    std::vector<float> y(x.size());
    Argument arguments[2];
    arguments[0].array = {x.data(), {rows, 5}, {4, rows * 4}};  // column-major
    const std::int64_t n[] = {rows * 5};
    arguments[1].array = contiguous(y.data(), n, 4);
    const std::int64_t dims[] = {rows, 5};
    Interpreter(module, 0).launch(dims, arguments);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < 5; ++j)
        ASSERT_EQ(y[static_cast<std::size_t>(i * 5 + j)], static_cast<float>(j * rows + i));
    }
  }
}

TEST(LangInterpreter, NoThreads) { EXPECT_EQ(fault(kernel("x[99] = 1.0"), {1}, 0, 0), ""); }

}  // namespace
