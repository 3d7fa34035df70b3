// The weighted grammar of expressions. Operations whose domain an operand could leave are repaired
// in place, in the way a person would write it: sqrt(abs(x) + 0.1), log(1.0 + x * x), a / (abs(b) +
// 1.0). The text therefore needs no checks, and every value stays finite.
#pragma once

#include "causeway/pairs/generate/expression.h"

#include <optional>
#include <vector>

namespace causeway::pairs {

// How often each group of operations is chosen.
struct Profile {
  double arithmetic = 1;
  double math = 0;       // sin, exp, sqrt, …
  double select = 0.15;  // min, max, clamp, where, lerp, conditional expressions
  double bits = 0;       // of integers
  double cast = 0.05;
  double vector = 0;
  double matrix = 0;
};

class Grammar {
 public:
  Grammar(Dice& dice, const Profile& profile) : dice_(dice), profile_(profile) {}

  // Names that may be used, the most recent last.
  std::vector<Variable> scope;

  // An expression of the type that uses at least one variable. Depth 0 is a variable.
  Expr make(ValueType type, int depth);
  // A comparison, or several joined by and, or, not.
  Expr condition(int depth);

  // A variable of the type; a recent one is more likely. None where the scope has none.
  std::optional<Expr> variable(ValueType type);
  bool has(ValueType type) const;
  // A constant of the scalar type as people write it.
  Expr constant(lang::Scalar scalar);
  // A constant inside the range.
  Expr constant_in(lang::Scalar scalar, Range range);

  // Keeps the value within what the type can carry through a few more operations.
  Expr tame(Expr expr);
  Expr tame_to(Expr expr, double limit);
  static double limit(ValueType type);
  // At least `margin`: abs(x) + 1, x * x + 0.5, max(x, 0.1).
  Expr positive(Expr expr, double margin);

  Dice& dice() { return dice_; }
  Profile& profile() { return profile_; }

 private:
  Expr make_float(lang::Scalar scalar, int depth);
  Expr make_int(lang::Scalar scalar, int depth);
  Expr make_vector(ValueType type, int depth);
  Expr make_matrix(ValueType type, int depth);
  Expr make_quaternion(int depth);

  Expr arithmetic(lang::Scalar scalar, int depth);
  Expr divide(Expr a, Expr b);
  Expr math_function(lang::Scalar scalar, int depth);
  Expr bounded_function(Expr x);
  Expr domain_function(Expr x, int depth);
  Expr select(ValueType type, int depth);
  Expr scalar_of_vector(lang::Scalar scalar, int depth);
  Expr scalar_of_matrix(lang::Scalar scalar, int depth);
  Expr bit_operation(lang::Scalar scalar, int depth);
  Expr int_quotient(Expr a);
  Expr cast_to(lang::Scalar scalar, int depth);
  Expr comparison(int depth);
  Expr operand(ValueType type, int depth, const Expr& other);
  // a minus another value of the type; a sum if both are the same, since the difference is 0.
  Expr difference(const Expr& a, ValueType type, int depth);
  // Any vector or matrix type that the scope has, of the scalar.
  std::optional<ValueType> composite(ValueType::Shape shape, lang::Scalar scalar);

  Dice& dice_;
  Profile profile_;
};

}  // namespace causeway::pairs
