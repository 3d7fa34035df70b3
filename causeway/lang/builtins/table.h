// The table of builtins, used by the checker, the documentation and the tests.
#pragma once

#include "causeway/lang/ast.h"
#include "causeway/lang/ir/ops.h"

#include <span>
#include <string_view>

namespace causeway::lang {

// How the checker treats a call.
enum class BuiltinForm : std::uint8_t {
  float_unary,    // op(F) -> F
  float_binary,   // op(F, F) -> F
  number_unary,   // op(T) -> T
  number_binary,  // op(T, T) -> T
  float_test,     // op(F) -> bool
  int_unary,      // op(I) -> I
  atomic,         // op(array, indices…, value) -> the value before
  block,          // op(T) -> T over the threads of a block
  special,        // a special rule in check/special.cpp
  prelude,        // written in the language itself, in builtins/prelude.cpp
};

struct Builtin {
  std::string_view name;
  std::string_view group;
  std::string_view signature;  // for the documentation
  BuiltinForm form = BuiltinForm::prelude;
  Op op = Op::constant;
  bool updates_state = false;  // the first argument is a random state that the call advances
};

std::span<const Builtin> builtins();
// nullptr if there is none.
const Builtin* find_builtin(std::string_view name);

// The functions of the language that are written in it. Annotations there are patterns: T any
// number, F any float, I any integer, vec[n,T], mat[r,c,F], quat[F].
const Source& prelude_source();
const Tree& prelude_tree();
// Overloads by name, in the order of the text.
std::span<const FunctionNode* const> prelude_functions(std::string_view name);

}  // namespace causeway::lang
