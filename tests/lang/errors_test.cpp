// Every message that refuses a kernel is pinned, word for word.
#include "causeway/lang/compile.h"
#include "causeway/lang/interpret/interpreter.h"
#include "tests/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace causeway::lang;

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string message_of(const std::string& file, const std::string& text) {
  try {
    compile(file, text);
  } catch (const CompileError& error) {
    EXPECT_EQ(error.kind(), causeway::ErrorKind::compile);
    return error.what();
  }
  return "accepted";
}

std::string kernel(const std::string& body) {
  return "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    " + body + "\n";
}

// The part of the message behind "error: ", up to the end of the first line.
std::string first_line(const std::string& text) {
  const std::string message = message_of("k.py", text);
  const std::size_t at = message.find("error: ");
  return at == std::string::npos ? message : message.substr(at + 7, message.find('\n') - at - 7);
}

TEST(LangErrors, RejectedKernelsHaveTheirMessages) {
  const std::filesystem::path folder = causeway::test::test_folder() / "lang/rejected";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".py") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 40U);
  std::string all;
  for (const auto& path : paths) all += message_of(path.filename().string(), read(path)) + "\n\n";
  EXPECT_EQ(all, read(folder / "messages.txt"));
}

TEST(LangErrors, MessageShowsThePlace) {
  EXPECT_EQ(message_of("k.py", kernel("y = x[n] * 2")),
            "k.py:3:9: error: operator * does not take these types\n"
            "      y = x[n] * 2\n"
            "          ^~~~~~~~\n"
            "  found: float32 and int32\n"
            "  expected: operands of one type\n"
            "  hint: convert one side: float32(…)");
  try {
    compile("k.py", kernel("y = m"));
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.line(), 3);
    EXPECT_EQ(error.column(), 9);
    EXPECT_EQ(error.file(), "k.py");
    EXPECT_EQ(error.diagnostic().message, "unknown name \"m\"");
  }
}

TEST(LangErrors, SuggestsTheNearestName) {
  const std::string unknown = message_of(
      "k.py", "@wp.kernel\ndef k(values: wp.array(dtype=float)):\n    valeus[0] = 1.0\n");
  EXPECT_NE(unknown.find("unknown name \"valeus\""), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean \"values\"?"), std::string::npos) << unknown;
  EXPECT_NE(message_of("k.py", kernel("y = wp.sqr(x[0])")).find("did you mean \"wp.sqrt\"?"),
            std::string::npos);
  EXPECT_NE(message_of("k.py", kernel("y = sqrt(x[0])")).find("did you mean \"wp.sqrt\"?"),
            std::string::npos);
  EXPECT_NE(message_of("k.py", "@wp.kernel\ndef k(x: wp.flaot32):\n    pass\n")
                .find("did you mean \"float32\"?"),
            std::string::npos);
}

TEST(LangErrors, EachHasItsOwnWords) {
  const std::pair<std::string, std::string> cases[] = {
      {kernel("y = 5000000000"), "integer literal does not fit int32"},
      {kernel("y = 99999999999999999999"), "integer needs more than 64 bits"},
      {kernel("y = 1j"), "invalid number"},
      {kernel("y = \"text"), "string is not closed"},
      {kernel("y = $"), "unexpected character"},
      {kernel("y = (1 +"), "invalid syntax"},
      {kernel("y = n // 0"), "integer division by zero"},
      {kernel("y = n % 0"), "integer division by zero"},
      {kernel("y = wp.tid(1)"), "wrong number of arguments for \"tid\""},
      {kernel("y = wp.sin()"), "wrong number of arguments for \"sin\""},
      {kernel("y = wp.sin(n)"), "no overload of \"sin\" takes these arguments"},
      {kernel("y = wp.sin"), "builtin \"sin\" must be called"},
      {kernel("y = wp.atomic_add(x, 0)"), "wrong number of arguments for \"atomic_add\""},
      {kernel("y = wp.atomic_add(n, 0, 1.0)"),
       "the first argument of \"atomic_add\" must be an array"},
      {kernel("y = wp.atomic_add(x, 0, 1)"), "value does not match the array's dtype"},
      {kernel("y = wp.atomic_and(x, 0, 1.0)"),
       "\"atomic_and\" does not take an array of this dtype"},
      {kernel("x[0] &= 1.0"), "operator & does not take these types"},
      {kernel("wp.randf(n)"),
       "the first argument of \"randf\" must be a variable that holds a random state"},
      {kernel("y = wp.vec3(1.0, 2.0)"), "wrong number of values for vec3f"},
      {kernel("v = wp.vec3()\n    y = v[3]"), "index is out of range"},
      {kernel("v = wp.vec3()\n    y = v.q"), "vec3f has no attribute \"q\""},
      {kernel("v = wp.vec3()\n    y = v[0, 1]"), "wrong number of indices"},
      {kernel("v = wp.vec3()\n    y = v[2:1]"), "slice is out of range"},
      {kernel("v = wp.vec3()\n    if v:\n        pass"), "a condition must be a scalar"},
      {kernel("y = wp.vec3() < wp.vec3()"), "these types cannot be compared with <"},
      {kernel("a, b = 1.0"), "only several values can be unpacked"},
      {kernel("a, b = 1.0, 2.0, 3.0"), "wrong number of values to unpack"},
      {kernel("y = wp.print"), "builtin \"print\" must be called"},
      {kernel("for i in range(0, 4, 0):\n        pass"), "range() step must not be zero"},
      {kernel("for i in range(1, 2, 3, 4):\n        pass"),
       "wrong number of arguments for \"range\""},
      {kernel("for i, j in range(3):\n        pass"), "a loop has one variable"},
      {kernel("for i in x:\n        pass"), "a for loop must run over range()"},
      {kernel("for i in range(3):\n        pass\n    else:\n        pass"),
       "`else` after a loop is not supported in kernels"},
      {kernel("continue"), "`continue` outside a loop"},
      {kernel("i = wp.tid()\n    a, b = wp.tid()"),
       "tid() is used with different numbers of dimensions"},
      {kernel("1.0 = n"), "cannot assign to this expression"},
      {kernel("x = x"), "accepted"},
      {kernel("y: int = 1.0"), "value does not match the annotation"},
      {kernel("n.x = 1"), "no such attribute"},
      {kernel("y = n[0]"), "this cannot be indexed"},
      {kernel("y = x"), "accepted"},
      {kernel("y = x + 1.0"), "this is not a value"},
      {kernel("y = k(x, n)"), "a kernel cannot be called from a kernel: \"k\""},
      {kernel("y = n(1)"), "\"n\" is not a function"},
      {kernel("y = x[0](1)"), "this cannot be called"},
      {kernel("y = f(*x)"), "starred arguments are not supported in kernels"},
      {kernel("y = wp.identity(n=n, dtype=float)"), "n must be a constant integer"},
      {kernel("y = wp.array(dtype=float)"), "arrays cannot be created in a kernel"},
      {kernel("yield n"), "`yield` is not supported in kernels"},
      {"@wp.kernel\nclass A:\n    pass\n", "invalid syntax after @kernel"},
      {"@wp.kernel\ndef k(x: foo):\n    pass\n", "not a type"},
      {"@wp.kernel\ndef k(x: wp.array(dtype=float, ndim=5)):\n    pass\n",
       "arrays have 1 to 4 dimensions"},
      {"@wp.kernel\ndef k(x: wp.array()):\n    pass\n", "array() needs a dtype"},
      {"@wp.kernel\ndef k(x: wp.types.vector(length=99, dtype=float)):\n    pass\n",
       "size of a vector or matrix is out of range"},
      {"@wp.kernel\ndef k(x: float, x: float):\n    pass\n", "parameter \"x\" is declared twice"},
      {"@wp.kernel\ndef k(*x):\n    pass\n", "variadic parameters are not supported in kernels"},
      {"@wp.kernel\ndef k(x: float):\n    pass\n@wp.kernel\ndef k(x: float):\n    pass\n",
       "kernel \"k\" is defined twice"},
      {"@wp.kernel\ndef k(x: float) -> float:\n    pass\n", "a kernel cannot return a value"},
      {"@wp.struct\nclass S:\n    x: float\n\n\n@wp.struct\nclass S:\n    x: float\n",
       "struct \"S\" is defined twice"},
      {"@wp.struct\nclass S:\n    x: float\n    x: int\n", "field \"x\" is declared twice"},
      {"@wp.struct\nclass S:\n    def f(self):\n        pass\n", "structs cannot have methods"},
      {"A = B\nB = A\n" + kernel("y = A"), "constant \"A\" depends on itself"},
      {"@wp.func\ndef f(x):\n    return x\n" + kernel("y = f(n)"),
       "parameter \"x\" of function \"f\" has no type annotation"},
      {"@wp.kernel\ndef k(x: float):\n        y = 1.0\n    z = 2.0\n",
       "indentation does not match any outer block"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(first_line(text), expected) << text;
}

TEST(LangErrors, DeepNestingIsRefused) {
  EXPECT_EQ(first_line(kernel("y = " + std::string(5000, '(') + "1" + std::string(5000, ')'))),
            "expression is nested too deeply");
  EXPECT_EQ(first_line(kernel("y = " + std::string(5000, '-') + "n")),
            "expression is nested too deeply");
  std::string calls = "n";
  for (int i = 0; i < 3000; ++i) calls = "x[" + calls + "]";
  EXPECT_EQ(first_line(kernel("y = " + calls)), "expression is nested too deeply");
  std::string blocks = "@wp.kernel\ndef k(n: int):\n";
  for (int i = 1; i < 200; ++i)
    blocks += std::string(static_cast<std::size_t>(i), ' ') + "if n > 0:\n";
  EXPECT_EQ(first_line(blocks + std::string(200, ' ') + "pass\n"), "blocks are nested too deeply");
  std::string sum = "n";
  for (int i = 0; i < 20000; ++i) sum += " + n";
  EXPECT_EQ(first_line(kernel("y = " + sum)), "expression is nested too deeply");
  std::string chains = "n";  // chains inside parentheses add up
  for (int i = 0; i < 50; ++i) chains = "(" + chains + " + n - n + n - n + n - n + n - n)";
  EXPECT_EQ(first_line(kernel("y = " + chains)), "expression is nested too deeply");
  std::string longest = "n";
  for (int i = 0; i < 250; ++i) longest += " + n";
  EXPECT_EQ(message_of("k.py", kernel("y = " + longest)), "accepted");
}

TEST(LangErrors, IrReaderNamesThePlace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      read_ir("k.ir", text);
    } catch (const CompileError& error) {
      return error.diagnostic().message;
    }
    return "accepted";
  };
  EXPECT_EQ(message("kernel @k(%x: array<f32,1>) dims 1 {\n}\n"), "accepted");
  EXPECT_EQ(message("kernel @k() {\n}\n"), "invalid IR: a kernel needs its launch dimensions");
  EXPECT_EQ(message("kernel @k() dims 1 {\n  %0 = foo : i32\n}\n"),
            "invalid IR: unknown operation \"foo\"");
  EXPECT_EQ(message("kernel @k() dims 1 {\n  %0 = add %1, %1 : i32\n}\n"),
            "invalid IR: unknown value %1");
  EXPECT_EQ(message("kernel @k() dims 1 {\n  %0 = tid 3 : i32\n}\n"),
            "invalid IR: tid: names a launch dimension");
  EXPECT_EQ(message("kernel @k(%a: f32, %b: i32) dims 1 {\n  %0 = add %a, %b : f32\n}\n"),
            "invalid IR: add: takes operands of its type");
  EXPECT_EQ(message("kernel @k(%a: f32) dims 1 {\n  break\n}\n"),
            "invalid IR: break: is outside a loop");
  EXPECT_EQ(message("kernel @k() dims 1 {\n  %0 = call @f#7 : i32\n}\n"),
            "invalid IR: call: names a function that is defined later");
  EXPECT_EQ(message("junk"), "invalid IR: expected struct, kernel or func");
}

}  // namespace
