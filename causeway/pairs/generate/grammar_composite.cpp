// Expressions of vectors, matrices and quaternions.
#include "causeway/pairs/generate/grammar.h"

#include <cmath>

namespace causeway::pairs {

namespace {

using lang::Scalar;
using Shape = ValueType::Shape;

constexpr Range kUnit{-1, 1};

std::string component_name(int i) { return std::string(1, "xyzw"[i]); }

}  // namespace

std::optional<ValueType> Grammar::composite(Shape shape, Scalar scalar) {
  std::vector<ValueType> types;
  for (const Variable& variable : scope) {
    if (variable.type.shape == shape && variable.type.scalar == scalar)
      types.push_back(variable.type);
  }
  if (types.empty()) return std::nullopt;
  return dice_.pick(std::span<const ValueType>(types));
}

Expr Grammar::scalar_of_vector(Scalar scalar, int depth) {
  const ValueType vector = *composite(Shape::vector, scalar);
  const ValueType type = scalar_of(scalar);
  Expr v = make(vector, depth - 1);
  const double n = vector.rows;
  constexpr double kWeights[] = {3, 2, 1.5, 2, 0.7, 0.7};
  switch (dice_.weighted(kWeights)) {
    case 0: {
      const Expr w = make(vector, depth - 1);
      const Range range = v.text == w.text ? square(v.range) : v.range * w.range;
      return call("wp.dot", {&v, &w}, type, range * Range{n, n},
                  "the dot product of " + v.phrase + " and " + w.phrase);
    }
    case 1:
      return call("wp.length", {&v}, type, {0, std::sqrt(n) * v.range.magnitude()},
                  "the length of " + v.phrase);
    case 2:
      return call("wp.length_sq", {&v}, type, {0, n * v.range.magnitude() * v.range.magnitude()},
                  "the squared length of " + v.phrase);
    case 4: return call("wp.min", {&v}, type, v.range, "the smallest component of " + v.phrase);
    case 5: return call("wp.max", {&v}, type, v.range, "the largest component of " + v.phrase);
    default: break;
  }
  const int i = dice_.below(vector.rows);
  // Components of a name, not of an expression in parentheses.
  if (auto name = variable(vector)) v = *name;
  const bool letter = v.binds == Binds::atom && dice_.chance(0.4);
  return {
      within(v, Binds::atom) + (letter ? "." + component_name(i) : "[" + std::to_string(i) + "]"),
      Binds::atom, type, v.range, "component " + component_name(i) + " of " + v.phrase};
}

Expr Grammar::difference(const Expr& a, ValueType type, int depth) {
  const Expr b = make(type, depth - 1);
  return a.text == b.text ? binary('+', a, b, type) : tame(binary('-', a, b, type));
}

Expr Grammar::make_vector(ValueType type, int depth) {
  const ValueType scalar = scalar_of(type.scalar);
  const auto leaf = variable(type);
  if (depth <= 0 && leaf) return *leaf;
  if (depth <= 0 || (!leaf && dice_.chance(0.6))) {  // built from scalars
    Expr result{annotation(type) + "(", Binds::atom, type, {0, 0}, ""};
    for (int i = 0; i < type.rows; ++i) {
      const Expr part =
          i > 0 && dice_.chance(0.3) ? constant(type.scalar) : make(scalar, depth - 1);
      result.text += (i > 0 ? ", " : "") + part.text;
      result.range = i == 0 ? part.range : hull(result.range, part.range);
      result.phrase += (i > 0 ? ", " : "the vector of ") + part.phrase;
    }
    result.text += ")";
    result.phrase = shortened(std::move(result.phrase), result.text);
    return result;
  }
  Expr a = make(type, depth - 1);
  const bool three = type.rows == 3 && lang::is_float(type.scalar);
  const bool square_matrix = has(matrix_of(type.rows, type.scalar));
  const bool rotation = type == vector_of(3) && has(kQuat);
  const double weights[] = {
      3, 2.5, 3, 1, three ? 1.5 : 0, 1.2, 1, 0.8, 0.5, square_matrix ? 3.0 : 0, rotation ? 3.0 : 0};
  switch (dice_.weighted(weights)) {
    case 0: return tame(binary('+', a, make(type, depth - 1), type));
    case 1: return difference(a, type, depth);
    case 2: {
      const Expr s = operand(scalar, depth - 1, a);
      return tame(dice_.chance(0.6) ? binary('*', a, s, type) : binary('*', s, a, type));
    }
    case 3: {
      Expr s = operand(scalar, 0, a);
      if (!s.range.avoids_zero(0.1)) s = positive(std::move(s), 0.1);
      return tame(binary('/', a, s, type));
    }
    case 4: {
      const Expr b = make(type, depth - 1);
      if (a.text == b.text) return a;  // their cross product is zero
      const Range range = (a.range * b.range) * Range{-2, 2};
      return tame(call("wp.cross", {&a, &b}, type, range,
                       "the cross product of " + a.phrase + " and " + b.phrase));
    }
    case 5: return call("wp.normalize", {&a}, type, kUnit, "the unit vector of " + a.phrase);
    case 6: {
      const Expr b = make(type, depth - 1);
      return tame(call("wp.cw_mul", {&a, &b}, type, a.range * b.range,
                       "the component-wise product of " + a.phrase + " and " + b.phrase));
    }
    case 7: {
      const Expr b = make(type, depth - 1);
      const bool least = dice_.chance(0.5);
      return call(least ? "wp.min" : "wp.max", {&a, &b}, type,
                  least ? minimum(a.range, b.range) : maximum(a.range, b.range),
                  std::string("the component-wise ") + (least ? "minimum" : "maximum") + " of " +
                      a.phrase + " and " + b.phrase);
    }
    case 8: return {"-" + within(a, Binds::sign), Binds::sign, type, -a.range, "minus " + a.phrase};
    case 9: {
      const Expr m = make(matrix_of(type.rows, type.scalar), depth - 1);
      Expr product = binary('*', m, a, type);
      const double n = type.rows;
      product.range = product.range * Range{n, n};
      return tame(std::move(product));
    }
    default: {
      const Expr q = make(kQuat, 0);
      const double most = 11 * a.range.magnitude() * std::max(1.0, q.range.magnitude());
      return tame(call(dice_.chance(0.8) ? "wp.quat_rotate" : "wp.quat_rotate_inv", {&q, &a}, type,
                       {-most, most}, a.phrase + " rotated by " + q.phrase));
    }
  }
}

Expr Grammar::scalar_of_matrix(Scalar scalar, int depth) {
  const ValueType matrix = *composite(Shape::matrix, scalar);
  const ValueType type = scalar_of(scalar);
  Expr m = make(matrix, depth - 1);
  const double n = matrix.rows;
  constexpr double kWeights[] = {2, 2, 2, 1};
  switch (dice_.weighted(kWeights)) {
    case 0: return call("wp.trace", {&m}, type, m.range * Range{n, n}, "the trace of " + m.phrase);
    case 1: {
      const double most = std::tgamma(n + 1) * std::pow(m.range.magnitude(), n);
      return call("wp.determinant", {&m}, type, {-most, most}, "the determinant of " + m.phrase);
    }
    case 2: {
      if (auto name = variable(matrix)) m = *name;
      const int row = dice_.below(matrix.rows);
      const int col = dice_.below(matrix.cols);
      return {within(m, Binds::atom) + "[" + std::to_string(row) + ", " + std::to_string(col) + "]",
              Binds::atom, type, m.range,
              "entry (" + std::to_string(row) + ", " + std::to_string(col) + ") of " + m.phrase};
    }
    default: {
      const Expr b = make(matrix, depth - 1);
      const Range range = m.text == b.text ? square(m.range) : m.range * b.range;
      return call("wp.ddot", {&m, &b}, type, range * Range{n * n, n * n},
                  "the sum of the products of the entries of " + m.phrase + " and " + b.phrase);
    }
  }
}

Expr Grammar::make_matrix(ValueType type, int depth) {
  const ValueType scalar = scalar_of(type.scalar);
  const ValueType vector = vector_of(type.rows, type.scalar);
  const double n = type.rows;
  const auto leaf = variable(type);
  if (depth <= 0 && leaf) return *leaf;
  if (depth <= 0 || !leaf) {
    const Expr a = make(vector, depth - 1);
    if (dice_.chance(0.35)) {
      return call("wp.diag", {&a}, type, hull(a.range, {0, 0}),
                  "the diagonal matrix of " + a.phrase);
    }
    const Expr b = make(vector, depth - 1);
    return tame(call(
        "wp.outer", {&a, &b}, type,
        a.text == b.text ? Range{-square(a.range).high, square(a.range).high} : a.range * b.range,
        "the outer product of " + a.phrase + " and " + b.phrase));
  }
  Expr a = make(type, depth - 1);
  const double weights[] = {2.5, 2, 3, 2.5, 2, has(vector) ? 1.0 : 0, 1.2};
  switch (dice_.weighted(weights)) {
    case 0: return tame(binary('+', a, make(type, depth - 1), type));
    case 1: return difference(a, type, depth);
    case 2: {
      const Expr b = make(type, depth - 1);
      Expr product = binary(dice_.chance(0.5) ? '*' : '@', a, b, type);
      product.range = (a.range * b.range) * Range{n, n};
      product.phrase = shortened("the product of " + a.phrase + " and " + b.phrase, product.text);
      return tame(std::move(product));
    }
    case 3: {
      const Expr s = operand(scalar, depth - 1, a);
      return tame(dice_.chance(0.5) ? binary('*', a, s, type) : binary('*', s, a, type));
    }
    case 4: return call("wp.transpose", {&a}, type, a.range, "the transpose of " + a.phrase);
    case 5: {
      const Expr v = make(vector, 0);
      const Expr d =
          call("wp.diag", {&v}, type, hull(v.range, {0, 0}), "the diagonal of " + v.phrase);
      return tame(binary('+', a, d, type));
    }
    default: {  // of a matrix with a dominant diagonal
      const double dominant = std::ceil(n * a.range.magnitude()) + 1;
      if (dominant > 200) return a;
      const std::string identity =
          "wp.identity(n=" + std::to_string(type.rows) + ", dtype=" + annotation(scalar) + ")";
      const Expr unit{identity, Binds::atom, type, {0, 1}, "the identity"};
      const Expr shifted =
          binary('+', a, binary('*', unit, literal(type.scalar, dominant), type), type);
      return call("wp.inverse", {&shifted}, type, {-2, 2},
                  "the inverse of " + a.phrase + " plus a multiple of the identity");
    }
  }
}

Expr Grammar::make_quaternion(int depth) {
  const auto leaf = variable(kQuat);
  if (depth <= 0 && leaf) return *leaf;
  if (!leaf) {
    Expr axis = make(vector_of(3), 0);
    const Expr unit =
        call("wp.normalize", {&axis}, axis.type, kUnit, "the unit vector of " + axis.phrase);
    const Expr angle = make(kFloat, 0);
    return call("wp.quat_from_axis_angle", {&unit, &angle}, kQuat, kUnit,
                "the rotation about " + axis.phrase + " by " + angle.phrase);
  }
  const Expr a = make(kQuat, depth - 1);
  switch (dice_.below(3)) {
    case 0: {
      const Expr b = make(kQuat, depth - 1);
      Expr product = binary('*', a, b, kQuat);
      const double most = 4 * a.range.magnitude() * b.range.magnitude();
      product.range = {-most, most};
      if (most > 50)
        return call("wp.normalize", {&product}, kQuat, kUnit,
                    "the unit quaternion of " + product.phrase);
      return product;
    }
    case 1: return call("wp.normalize", {&a}, kQuat, kUnit, "the unit quaternion of " + a.phrase);
    default: {
      const Expr unit =
          call("wp.normalize", {&a}, kQuat, kUnit, "the unit quaternion of " + a.phrase);
      return call("wp.quat_inverse", {&unit}, kQuat, kUnit, "the inverse rotation of " + a.phrase);
    }
  }
}

}  // namespace causeway::pairs
