// Typed expressions as text, with the range of their values and a phrase that describes them.
#pragma once

#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/generate/range.h"
#include "causeway/pairs/program.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

// Precedence of Python's operators, loosest first.
enum class Binds : std::uint8_t {
  conditional,
  either,
  both,
  negation,
  comparison,
  bit_or,
  bit_xor,
  bit_and,
  shift,
  sum,
  product,
  sign,
  atom,
};

struct Expr {
  std::string text;
  Binds binds = Binds::atom;
  ValueType type;
  Range range;         // of every component
  std::string phrase;  // "the sine of x"
  bool literal = false;
};

// A name that expressions may use.
struct Variable {
  std::string name;
  ValueType type;
  Range range;
  std::string phrase;  // where it is not the name itself
};

inline constexpr ValueType kFloat{};
inline constexpr ValueType kInt{lang::Scalar::i32};
inline constexpr ValueType kBool{lang::Scalar::boolean};
constexpr ValueType scalar_of(lang::Scalar scalar) { return {scalar}; }
constexpr ValueType vector_of(int n, lang::Scalar scalar = lang::Scalar::f32) {
  return {scalar, ValueType::Shape::vector, static_cast<std::uint8_t>(n), 1};
}
constexpr ValueType matrix_of(int n, lang::Scalar scalar = lang::Scalar::f32) {
  const auto size = static_cast<std::uint8_t>(n);
  return {scalar, ValueType::Shape::matrix, size, size};
}
constexpr ValueType kQuat{lang::Scalar::f32, ValueType::Shape::quaternion, 4, 1};

// "float", "wp.float64", "wp.vec3", "wp.mat22d": as an annotation names the type.
std::string annotation(ValueType type);

// "0.5", "wp.float64(0.5)", "3": a constant of the scalar type, at most two decimals.
Expr literal(lang::Scalar scalar, double value);

Expr variable_expr(const Variable& variable);

// The text, in parentheses where it binds less tightly than `needed`.
std::string within(const Expr& expr, Binds needed);

// a + b, a - b, a * b, a / b with ranges; the phrase is composed. `/` on integers truncates.
Expr binary(char op, const Expr& a, const Expr& b, ValueType result);
// name(a, …) with the given range and type.
Expr call(std::string_view name, std::initializer_list<const Expr*> arguments, ValueType result,
          Range range, std::string phrase);

// Composed phrases grow; one of over 90 characters becomes "a function of x, y and gain".
std::string shortened(std::string phrase, std::string_view text);
// "x", "x and y", "x, y and z".
std::string listed(const std::vector<std::string>& names);
// The names of variables in the text of an expression, each once, in order.
std::vector<std::string> names_in(std::string_view text);

}  // namespace causeway::pairs
