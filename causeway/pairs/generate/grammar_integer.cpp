// Expressions of integers, conversions and conditions.
#include "causeway/pairs/generate/grammar.h"

#include <cmath>

namespace causeway::pairs {

namespace {

using lang::Scalar;

double power_of_two_above(double value) {
  double power = 1;
  while (power <= value) power *= 2;
  return power;
}

}  // namespace

Expr Grammar::make_int(Scalar scalar, int depth) {
  const ValueType type = scalar_of(scalar);
  if (depth <= 0) {
    if (auto found = variable(type)) return *found;
    return cast_to(scalar, 0);
  }
  const double weights[] = {profile_.arithmetic, profile_.bits, profile_.select,
                            profile_.cast * 0.5};
  switch (dice_.weighted(weights)) {
    case 1: return tame(bit_operation(scalar, depth));
    case 2: return tame(select(type, depth));
    case 3: return tame(cast_to(scalar, depth - 1));
    default: break;
  }
  Expr a = make(type, dice_.chance(0.7) ? depth - 1 : 0);
  constexpr double kWeights[] = {3, 2.5, 2, 1.5};
  const std::size_t op = dice_.weighted(kWeights);
  if (op == 3) return tame(int_quotient(std::move(a)));
  Expr b = operand(type, dice_.chance(0.6) ? depth - 1 : 0, a);
  if (op == 1 && lang::is_unsigned(scalar) && a.range.low < b.range.high)
    return tame(binary('+', a, b, type));
  const bool large = op == 2 && (a.range * b.range).magnitude() > limit(type);
  return tame(binary(large ? '+' : "+-*"[op], a, b, type));
}

Expr Grammar::int_quotient(Expr a) {
  const ValueType type = a.type;
  const Expr divisor = literal(type.scalar, dice_.pick({2, 3, 4, 5, 7, 8, 10}));
  const double d = divisor.range.low;
  if (dice_.chance(0.5)) {
    const Range range = a.range.low >= 0 ? Range{0, d - 1} : Range{1 - d, d - 1};
    return {within(a, Binds::product) + " % " + divisor.text, Binds::product, type, range,
            shortened(a.phrase + " modulo " + divisor.phrase, a.text)};
  }
  return {within(a, Binds::product) + " // " + divisor.text, Binds::product, type,
          increasing(a.range, [d](double v) { return std::floor(v / d); }),
          shortened(a.phrase + " divided by " + divisor.phrase, a.text)};
}

Expr Grammar::bit_operation(Scalar scalar, int depth) {
  const ValueType type = scalar_of(scalar);
  Expr a = make(type, depth - 1);
  constexpr double kWeights[] = {2, 2, 2, 1, 1.2};
  const std::size_t op = dice_.weighted(kWeights);
  if (op >= 3) {
    const Expr count = literal(scalar, dice_.between(1, 4));
    const double factor = std::exp2(count.range.low);
    if (op == 3 && a.range.low >= 0 && a.range.high * factor < limit(type)) {
      return {within(a, Binds::shift) + " << " + count.text, Binds::shift, type,
              a.range * Range{factor, factor},
              shortened(a.phrase + " shifted left by " + count.phrase, a.text)};
    }
    return {within(a, Binds::shift) + " >> " + count.text, Binds::shift, type,
            increasing(a.range, [factor](double v) { return std::floor(v / factor); }),
            shortened(a.phrase + " shifted right by " + count.phrase, a.text)};
  }
  Expr b = operand(type, depth - 1, a);
  if (b.literal && op == 0) b = literal(scalar, dice_.pick({1, 3, 7, 15, 31, 255}));
  constexpr Binds kBinds[] = {Binds::bit_and, Binds::bit_or, Binds::bit_xor};
  constexpr const char* kText[] = {" & ", " | ", " ^ "};
  const Binds binds = kBinds[op];
  const double top = power_of_two_above(std::max(a.range.magnitude(), b.range.magnitude()));
  const bool natural = a.range.low >= 0 && b.range.low >= 0;
  Range range = natural ? Range{0, top - 1} : Range{-top, top - 1};
  if (op == 0 && natural) range.high = std::min(a.range.high, b.range.high);
  if (op == 0 && b.range.low >= 0) range = {0, b.range.high};
  constexpr const char* kWords[] = {" and ", " or ", " xor "};
  return {within(a, binds) + kText[op] + within(b, static_cast<Binds>(static_cast<int>(binds) + 1)),
          binds, type, range,
          shortened("the bitwise" + std::string(kWords[op]) + "of " + a.phrase + " and " + b.phrase,
                    a.text + " " + b.text)};
}

// From the other kind of scalar. Falls back to a constant where the scope has neither.
Expr Grammar::cast_to(Scalar scalar, int depth) {
  const ValueType type = scalar_of(scalar);
  const std::string name = annotation(type);
  for (const Scalar from :
       {Scalar::i32, Scalar::f32, Scalar::i64, Scalar::u32, Scalar::f64, Scalar::f16}) {
    if (from == scalar || !has(scalar_of(from))) continue;
    Expr x = make(scalar_of(from), std::max(0, depth));
    if (lang::is_unsigned(scalar) && x.range.low < 0) {
      x = lang::is_float(from) ? positive(std::move(x), 0.1)
                               : call("wp.abs", {&x}, x.type, absolute(x.range),
                                      "the absolute value of " + x.phrase);
    }
    Range range = x.range;
    if (lang::is_float(from) && !lang::is_float(scalar))
      range = {std::trunc(range.low), std::trunc(range.high)};
    return call(name, {&x}, type, range, x.phrase);
  }
  if (auto found = variable(type)) return *found;
  return constant(scalar);
}

Expr Grammar::comparison(int depth) {
  std::vector<ValueType> types;
  for (const Variable& variable : scope) {
    if (variable.type.is_scalar() && variable.type.scalar != Scalar::boolean)
      types.push_back(variable.type);
  }
  if (types.empty()) return {"True", Binds::atom, kBool, {0, 1}, "always", true};
  const ValueType type = dice_.pick(std::span<const ValueType>(types));
  Expr a = make(type, depth);
  if (!lang::is_float(type.scalar) && dice_.chance(0.35)) {
    const Expr modulus = literal(type.scalar, dice_.between(2, 5));
    const Expr rest = literal(type.scalar, dice_.below(static_cast<int>(modulus.range.low)));
    return {within(a, Binds::product) + " % " + modulus.text + " == " + rest.text,
            Binds::comparison,
            kBool,
            {0, 1},
            a.phrase + " modulo " + modulus.phrase + " is " + rest.phrase};
  }
  constexpr const char* kText[] = {" > ", " < ", " >= ", " <= "};
  constexpr const char* kWords[] = {" exceeds ", " is below ", " is at least ", " is at most "};
  const int op = dice_.below(4);
  const Expr b = dice_.chance(0.65) ? constant_in(type.scalar, a.range) : operand(type, depth, a);
  return {within(a, Binds::bit_or) + kText[op] + within(b, Binds::bit_or),
          Binds::comparison,
          kBool,
          {0, 1},
          shortened(a.phrase + kWords[op] + b.phrase, a.text + " " + b.text)};
}

Expr Grammar::condition(int depth) {
  Expr a = comparison(depth);
  if (a.literal || !dice_.chance(0.2)) return a;
  const Expr b = comparison(depth);
  if (b.text == a.text) return a;
  const bool both = dice_.chance(0.6);
  const Binds binds = both ? Binds::both : Binds::either;
  return {within(a, binds) + (both ? " and " : " or ") +
              within(b, static_cast<Binds>(static_cast<int>(binds) + 1)),
          binds,
          kBool,
          {0, 1},
          shortened(a.phrase + (both ? " and " : " or ") + b.phrase, a.text + " " + b.text)};
}

}  // namespace causeway::pairs
