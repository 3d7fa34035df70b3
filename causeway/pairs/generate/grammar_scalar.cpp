// Expressions of floating-point scalars, constants and names.
#include "causeway/pairs/generate/grammar.h"

#include <cmath>

namespace causeway::pairs {

namespace {

using lang::Scalar;

constexpr double kFloats[] = {0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75,
                              0.8, 1.0, 1.2,  1.5, 2.0, 2.5, 3.0};
constexpr int kInts[] = {1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 16};

}  // namespace

double Grammar::limit(ValueType type) {
  switch (type.scalar) {
    case Scalar::f16: return 30;
    case Scalar::f32: return 1000;
    case Scalar::f64: return 5000;
    case Scalar::i64: return 1e8;
    default: return 1e6;
  }
}

bool Grammar::has(ValueType type) const {
  for (const Variable& variable : scope) {
    if (variable.type == type) return true;
  }
  return false;
}

std::optional<Expr> Grammar::variable(ValueType type) {
  std::vector<double> weights(scope.size());
  double weight = 1;
  bool any = false;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    if (scope[i].type != type) continue;
    weights[i] = weight;
    weight *= 1.25;
    any = true;
  }
  if (!any) return std::nullopt;
  return variable_expr(scope[dice_.weighted(weights)]);
}

Expr Grammar::constant(Scalar scalar) {
  if (!lang::is_float(scalar)) return literal(scalar, dice_.pick(kInts));
  if (dice_.chance(0.75)) return literal(scalar, dice_.pick(kFloats));
  return literal(scalar, dice_.between(5, 400) / 100.0);
}

Expr Grammar::constant_in(Scalar scalar, Range range) {
  const double at = range.low + (range.high - range.low) * (0.2 + 0.6 * dice_.uniform());
  if (!lang::is_float(scalar)) return literal(scalar, std::round(at));
  const double step = range.magnitude() > 20 ? 1.0 : range.magnitude() > 2 ? 0.1 : 0.05;
  return literal(scalar, std::round(at / step) * step);
}

Expr Grammar::make(ValueType type, int depth) {
  using Shape = ValueType::Shape;
  switch (type.shape) {
    case Shape::vector: return make_vector(type, depth);
    case Shape::matrix: return make_matrix(type, depth);
    case Shape::quaternion: return make_quaternion(depth);
    case Shape::scalar: break;
  }
  return lang::is_float(type.scalar) ? make_float(type.scalar, depth)
                                     : make_int(type.scalar, depth);
}

// Another expression of the type, a constant now and then; not the same text again.
Expr Grammar::operand(ValueType type, int depth, const Expr& other) {
  if (type.is_scalar() && dice_.chance(depth == 0 ? 0.4 : 0.2)) return constant(type.scalar);
  Expr expr = make(type, depth);
  for (int i = 0; i < 3 && expr.text == other.text; ++i) expr = make(type, depth);
  if (expr.text == other.text && type.is_scalar()) return constant(type.scalar);
  return expr;
}

Expr Grammar::make_float(Scalar scalar, int depth) {
  const ValueType type = scalar_of(scalar);
  if (depth <= 0) {
    if (auto found = variable(type)) return *found;
    return cast_to(scalar, 0);
  }
  const bool vectors = composite(ValueType::Shape::vector, scalar).has_value();
  const bool matrices = composite(ValueType::Shape::matrix, scalar).has_value();
  const double weights[] = {profile_.arithmetic,
                            profile_.math,
                            profile_.select,
                            profile_.cast,
                            vectors ? profile_.vector : 0,
                            matrices ? profile_.matrix : 0};
  switch (dice_.weighted(weights)) {
    case 0: return tame(arithmetic(scalar, depth));
    case 1: return tame(math_function(scalar, depth));
    case 2: return tame(select(type, depth));
    case 3: return tame(cast_to(scalar, depth - 1));
    case 4: return tame(scalar_of_vector(scalar, depth));
    default: return tame(scalar_of_matrix(scalar, depth));
  }
}

Expr Grammar::arithmetic(Scalar scalar, int depth) {
  const ValueType type = scalar_of(scalar);
  constexpr double kWeights[] = {3, 2.5, 3, 1.2, 0.4, 0.3};
  const std::size_t op = dice_.weighted(kWeights);
  Expr a = make(type, dice_.chance(0.7) ? depth - 1 : 0);
  if (op == 4) return binary('*', a, a, type);
  if (op == 5) {
    return Expr{"-" + within(a, Binds::sign), Binds::sign, type, -a.range, "minus " + a.phrase};
  }
  Expr b = operand(type, dice_.chance(0.6) ? depth - 1 : 0, a);
  if (op == 3) {
    if (b.literal && b.range.low == 1) b = literal(scalar, 2.0);
    return divide(std::move(a), std::move(b));
  }
  if (b.literal && dice_.chance(0.3)) std::swap(a, b);
  if (op == 2 && b.literal && b.range.low == 1) b = literal(scalar, 1.5);
  // The product of large values is replaced by their difference.
  const bool large = op == 2 && (a.range * b.range).magnitude() > limit(type);
  return binary(large ? '-' : "+-*"[op], a, b, type);
}

Expr Grammar::positive(Expr expr, double margin) {
  const Scalar scalar = expr.type.scalar;
  if (expr.range.low >= margin) return expr;
  if (expr.range.low >= 0)
    return binary('+', expr, literal(scalar, dice_.pick({0.5, 1.0})), expr.type);
  if (expr.range.magnitude() < 20 && dice_.chance(0.4))
    return binary('+', binary('*', expr, expr, expr.type), literal(scalar, 1.0), expr.type);
  if (dice_.chance(0.3)) {
    const Expr low = literal(scalar, 0.1);
    return call("wp.max", {&expr, &low}, expr.type, maximum(expr.range, low.range),
                "the larger of " + expr.phrase + " and 0.1");
  }
  const Expr size = call("wp.abs", {&expr}, expr.type, absolute(expr.range),
                         "the absolute value of " + expr.phrase);
  return binary('+', size, literal(scalar, dice_.pick({0.5, 1.0, 1.0, 2.0})), expr.type);
}

Expr Grammar::divide(Expr a, Expr b) {
  if (!b.range.avoids_zero(0.1)) b = positive(std::move(b), 0.1);
  return binary('/', a, b, a.type);
}

Expr Grammar::math_function(Scalar scalar, int depth) {
  Expr x = make(scalar_of(scalar), depth - 1);
  return dice_.chance(0.55) ? bounded_function(std::move(x)) : domain_function(std::move(x), depth);
}

// Functions that take any argument.
Expr Grammar::bounded_function(Expr x) {
  struct Function {
    const char* name;
    const char* phrase;
    Range range;
  };
  static constexpr Function kFunctions[] = {
      {"sin", "the sine of ", {-1, 1}},
      {"cos", "the cosine of ", {-1, 1}},
      {"tanh", "the hyperbolic tangent of ", {-1, 1}},
      {"atan", "the arctangent of ", {-1.6, 1.6}},
      {"erf", "the error function of ", {-1, 1}},
      {"abs", "the absolute value of ", {0, 0}},
      {"floor", "the floor of ", {0, 0}},
      {"ceil", "the ceiling of ", {0, 0}},
      {"frac", "the fractional part of ", {-1, 1}},
      {"cbrt", "the cube root of ", {0, 0}},
      {"sign", "the sign of ", {-1, 1}},
      {"round", "the rounded value of ", {0, 0}},
      {"radians", "the radians of ", {0, 0}},
      {"trunc", "the truncated value of ", {0, 0}},
  };
  static constexpr double kWeights[] = {4, 4, 3, 2, 1.5, 2.5, 1, 1, 0.7, 0.8, 0.7, 0.7, 0.5, 0.5};
  const std::size_t which = dice_.weighted(kWeights);
  const Function& function = kFunctions[which];
  Range range = function.range;
  switch (which) {
    case 5: range = absolute(x.range); break;
    case 6: range = increasing(x.range, [](double v) { return std::floor(v); }); break;
    case 7: range = increasing(x.range, [](double v) { return std::ceil(v); }); break;
    case 9: range = increasing(x.range, [](double v) { return std::cbrt(v); }); break;
    case 11:
    case 13: range = {x.range.low - 1, x.range.high + 1}; break;
    case 12: range = x.range * Range{0.017, 0.018}; break;
    default: break;
  }
  return call("wp." + std::string(function.name), {&x}, x.type, range, function.phrase + x.phrase);
}

// Functions whose argument is repaired.
Expr Grammar::domain_function(Expr x, int depth) {
  const ValueType type = x.type;
  const Scalar scalar = type.scalar;
  constexpr double kWeights[] = {4, 4, 2.5, 1.5, 1.2, 1, 1, 1, 0.6};
  switch (dice_.weighted(kWeights)) {
    case 0: {  // exp of what is at most 3
      if (x.range.high > 3) {
        if (dice_.chance(0.5)) {
          const Expr squared = binary('*', x, x, type);
          x = Expr{"-" + within(squared, Binds::product), Binds::sign, type, -square(x.range),
                   "minus the square of " + x.phrase};
          if (x.range.low < -60) x = tame_to(std::move(x), 30);
        } else {
          const Expr size =
              call("wp.abs", {&x}, type, absolute(x.range), "the absolute value of " + x.phrase);
          x = Expr{"-" + size.text, Binds::sign, type, -size.range, "minus " + size.phrase};
        }
      }
      return call("wp.exp", {&x}, type, increasing(x.range, [](double v) { return std::exp(v); }),
                  "the exponential of " + x.phrase);
    }
    case 1:
      x = positive(std::move(x), 0.05);
      return call("wp.sqrt", {&x}, type, increasing(x.range, [](double v) { return std::sqrt(v); }),
                  "the square root of " + x.phrase);
    case 2: {
      x = positive(std::move(x), 0.1);
      const char* name = dice_.pick({"log", "log", "log", "log2", "log10"});
      const double scale = name[3] == '2' ? 1.4427 : name[3] == '1' ? 0.4343 : 1.0;
      const Range range = increasing(x.range, [scale](double v) { return scale * std::log(v); });
      return call("wp." + std::string(name), {&x}, type, range, "the logarithm of " + x.phrase);
    }
    case 3: {
      x = positive(std::move(x), 0.2);
      const double exponent = dice_.pick({0.5, 1.5, 2.0, 0.75, 3.0});
      const Expr power = literal(scalar, x.range.high > 12 ? 0.5 : exponent);
      const double p = power.range.low;
      return call("wp.pow", {&x, &power}, type,
                  increasing(x.range, [p](double v) { return std::pow(v, p); }),
                  x.phrase + " to the power of " + power.phrase);
    }
    case 4: {
      const Expr y = operand(type, depth - 1, x);
      return call("wp.atan2", {&x, &y}, type, {-3.2, 3.2},
                  "the angle of " + x.phrase + " and " + y.phrase);
    }
    case 5: {
      if (!x.range.inside(-0.9, 0.9)) x = tame_to(std::move(x), 0.9);
      return dice_.chance(0.5)
                 ? call("wp.asin", {&x}, type, {-1.2, 1.2}, "the arcsine of " + x.phrase)
                 : call("wp.acos", {&x}, type, {0.4, 2.7}, "the arccosine of " + x.phrase);
    }
    case 6:
      if (!x.range.inside(-3, 3)) x = tame_to(std::move(x), 3);
      return dice_.chance(0.5)
                 ? call("wp.sinh", {&x}, type, {-10.1, 10.1}, "the hyperbolic sine of " + x.phrase)
                 : call("wp.cosh", {&x}, type, {1, 10.1}, "the hyperbolic cosine of " + x.phrase);
    case 7:
      if (!x.range.inside(-1, 1)) x = tame_to(std::move(x), 1);
      return call("wp.tan", {&x}, type, {-1.6, 1.6}, "the tangent of " + x.phrase);
    default: {
      const Expr low = literal(scalar, dice_.pick({0.0, -1.0, 0.2}));
      const Expr high = literal(scalar, dice_.pick({1.0, 2.0, 0.8}));
      return call("wp.smoothstep", {&low, &high, &x}, type, {0, 1},
                  "the smooth step of " + x.phrase);
    }
  }
}

Expr Grammar::tame(Expr expr) { return tame_to(std::move(expr), limit(expr.type)); }

Expr Grammar::tame_to(Expr expr, double most) {
  if (expr.range.magnitude() <= most) return expr;
  const ValueType type = expr.type;
  const Scalar scalar = type.scalar;
  if (!type.is_scalar()) {
    if (type.shape != ValueType::Shape::matrix && lang::is_float(scalar) && dice_.chance(0.5))
      return call("wp.normalize", {&expr}, type, {-1, 1}, "the unit vector of " + expr.phrase);
    double factor = 1;
    while (expr.range.magnitude() * factor > most) factor *= 0.1;
    return binary('*', expr, literal(scalar, std::max(factor, 0.001)), type);
  }
  if (!lang::is_float(scalar)) {
    const Expr modulus = literal(scalar, dice_.pick({97, 101, 127, 251, 509, 1009}));
    const double top = modulus.range.low - 1;
    return Expr{within(expr, Binds::product) + " % " + modulus.text, Binds::product, type,
                expr.range.low >= 0 ? Range{0, top} : Range{-top, top},
                shortened(expr.phrase + " modulo " + modulus.phrase, expr.text)};
  }
  const double bound = most >= 100 ? 100 : most >= 10 ? 10 : most;
  const bool clamped = expr.text.starts_with("wp.clamp(");
  const double choice = dice_.uniform() * (clamped ? 0.55 : 1);
  if (choice < 0.35 && bound >= 1) {
    const Expr small = literal(scalar, 0.1);
    const Expr scaled = binary('*', expr, small, type);
    return call("wp.tanh", {&scaled}, type, {-1, 1}, "the hyperbolic tangent of " + scaled.phrase);
  }
  if (choice < 0.55 && bound >= 1)
    return call("wp.sin", {&expr}, type, {-1, 1}, "the sine of " + expr.phrase);
  const Expr low = literal(scalar, -bound);
  const Expr high = literal(scalar, bound);
  return call("wp.clamp", {&expr, &low, &high}, type, {-bound, bound},
              expr.phrase + " limited to [" + low.phrase + ", " + high.phrase + "]");
}

Expr Grammar::select(ValueType type, int depth) {
  const Scalar scalar = type.scalar;
  Expr a = make(type, depth - 1);
  constexpr double kWeights[] = {2, 2, 1.5, 1.5, 2, 1};
  switch (dice_.weighted(kWeights)) {
    case 0:
    case 1: {
      const Expr b = operand(type, depth - 1, a);
      const bool least = dice_.chance(0.5);
      return call(least ? "wp.min" : "wp.max", {&a, &b}, type,
                  least ? minimum(a.range, b.range) : maximum(a.range, b.range),
                  std::string("the ") + (least ? "smaller" : "larger") + " of " + a.phrase +
                      " and " + b.phrase);
    }
    case 2: {
      const double bound =
          lang::is_float(scalar) ? dice_.pick({0.5, 1.0, 2.0, 5.0}) : dice_.pick({3, 7, 15, 50});
      const bool unsigned_type = lang::is_unsigned(scalar);
      const Expr low = literal(scalar, unsigned_type || dice_.chance(0.4) ? 0 : -bound);
      const Expr high = literal(scalar, bound);
      const Range range = minimum(maximum(a.range, low.range), high.range);
      return call("wp.clamp", {&a, &low, &high}, type, range,
                  a.phrase + " limited to [" + low.phrase + ", " + high.phrase + "]");
    }
    case 3: {
      const Expr c = condition(0);
      const Expr b = operand(type, depth - 1, a);
      return call("wp.where", {&c, &a, &b}, type, hull(a.range, b.range),
                  a.phrase + " where " + c.phrase + ", else " + b.phrase);
    }
    case 4: {
      const Expr c = condition(0);
      const Expr b = operand(type, depth - 1, a);
      return Expr{within(a, Binds::either) + " if " + within(c, Binds::either) + " else " +
                      within(b, Binds::conditional),
                  Binds::conditional, type, hull(a.range, b.range),
                  shortened(a.phrase + " if " + c.phrase + ", else " + b.phrase,
                            a.text + " " + c.text + " " + b.text)};
    }
    default: {
      if (!lang::is_float(scalar))
        return call("wp.abs", {&a}, type, absolute(a.range), "the absolute value of " + a.phrase);
      const Expr b = operand(type, 0, a);
      const Expr t = literal(scalar, dice_.pick({0.1, 0.25, 0.5, 0.3, 0.9}));
      return call("wp.lerp", {&a, &b, &t}, type, hull(a.range, b.range),
                  "the interpolation between " + a.phrase + " and " + b.phrase);
    }
  }
}

}  // namespace causeway::pairs
