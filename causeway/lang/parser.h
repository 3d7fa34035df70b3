// Tokens to the syntax tree. Kernels, functions, structs and constants at the top of the text are
// read; other statements there are skipped, as a file may hold the program around its kernels.
#pragma once

#include "causeway/lang/ast.h"

namespace causeway::lang {

inline constexpr int kMaxExpressionDepth = 100;   // of parentheses, calls and signs
inline constexpr int kMaxExpressionHeight = 300;  // of the tree, which chains of operators add to

// Throws CompileError. `plain_functions` also takes functions without a decorator.
Tree parse(const Source& source, bool plain_functions = false);

// One expression, as in a quoted annotation.
ExprId parse_expression(const Source& source, Tree& tree);

}  // namespace causeway::lang
