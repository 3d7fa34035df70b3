// Kernel text to a module of IR, and on to CUDA, C++ and adjoints.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace causeway::lang {

// A Python value that kernels refer to by name: a bool, an int, a float, or the scalars of a vector
// or matrix in row-major order.
struct Constant {
  enum class Kind : std::uint8_t { boolean, integer, real, vector, matrix };
  Kind kind = Kind::real;
  Scalar scalar = Scalar::f32;  // of vectors and matrices
  std::int64_t integer = 0;
  double real = 0;
  int rows = 0;
  int cols = 1;
  std::vector<double> values = {};

  static Constant of(bool value);
  static Constant of(std::int64_t value);
  static Constant of(double value);
};

struct CompileOptions {
  // Names that the text does not define itself.
  std::map<std::string, Constant, std::less<>> constants = {};
  // Where lines of the text come from, for messages; without any, from the file.
  std::vector<Origin> origins = {};
  // Loops over a constant range of at most this many iterations count as static, as Warp unrolls
  // them: they may change a name bound to a literal.
  int static_trips = 16;
  // Compiles float16 and float32 as float64: for checks of gradients by finite differences.
  bool promote_floats = false;
  // Runs the passes of optimize().
  bool optimize = true;
};

// Lexes, parses, types and lowers every kernel of the text. Throws CompileError.
Module compile(std::string file, std::string text, const CompileOptions& options = {});

}  // namespace causeway::lang
