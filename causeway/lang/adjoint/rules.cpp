// Derivatives of operations: the contributions of a result's adjoint to those of the operands.
#include "causeway/lang/adjoint/reverse.h"

#include <numbers>

namespace causeway::lang::adjoint {

ValueId Reverse::number(TypeId type, double value) { return b_.constant(type, value); }

ValueId Reverse::scaled(ValueId a, double factor) {
  const TypeId scalar = scalar_type(module_.types[b_.type(a)].scalar);
  return mul(a, number(scalar, factor));
}

ValueId Reverse::dot(ValueId a, ValueId b) {
  const int n = module_.types.count(b_.type(a));
  ValueId sum = kAbsent;
  for (int i = 0; i < n; ++i) {
    const ValueId term = mul(b_.extract(a, i), b_.extract(b, i));
    sum = sum == kAbsent ? term : add(sum, term);
  }
  return sum;
}

void Reverse::apply_rule(const Inst& inst, ValueId id, ValueId adjoint) {
  switch (inst.op) {
    case Op::add: contribute(w_.arg(inst, 0), adjoint); return contribute(w_.arg(inst, 1), adjoint);
    case Op::sub:
      contribute(w_.arg(inst, 0), adjoint);
      if (active(w_.arg(inst, 1))) contribute(w_.arg(inst, 1), b_.unary(Op::neg, adjoint));
      return;
    case Op::neg: return contribute(w_.arg(inst, 0), b_.unary(Op::neg, adjoint));
    case Op::mul:
    case Op::div:
    case Op::mod:
    case Op::pow:
    case Op::atan2:
    case Op::min:
    case Op::max:
    case Op::copysign: return rule_binary(inst, id, adjoint);
    case Op::select: {
      const ValueId condition = primal(w_.arg(inst, 0));
      const ValueId zero = b_.zero(inst.type);
      if (active(w_.arg(inst, 1)))
        contribute(w_.arg(inst, 1), b_.emit(Op::select, inst.type, {condition, adjoint, zero}));
      if (active(w_.arg(inst, 2)))
        contribute(w_.arg(inst, 2), b_.emit(Op::select, inst.type, {condition, zero, adjoint}));
      return;
    }
    case Op::cast:
      if (active(w_.arg(inst, 0)))
        contribute(w_.arg(inst, 0), b_.cast(adjoint, w_[w_.arg(inst, 0)].type));
      return;
    case Op::block_sum:
    case Op::block_min:
    case Op::block_max: return rule_block(inst, id, adjoint);
    case Op::make:
    case Op::extract:
    case Op::insert:
    case Op::field:
    case Op::insert_field: return rule_composite(inst, adjoint);
    default: return rule_unary(inst, id, adjoint);
  }
}

void Reverse::rule_binary(const Inst& inst, ValueId id, ValueId adjoint) {
  const ValueId a = w_.arg(inst, 0);
  const ValueId c = w_.arg(inst, 1);
  const TypeTable& types = module_.types;
  const bool composite_a = types.is_composite(w_[a].type);
  const bool composite_c = types.is_composite(w_[c].type);
  if (inst.op == Op::mul) {
    if (active(a))
      contribute(a,
                 !composite_a && composite_c ? dot(primal(c), adjoint) : mul(adjoint, primal(c)));
    if (active(c))
      contribute(c,
                 composite_a && !composite_c ? dot(primal(a), adjoint) : mul(adjoint, primal(a)));
    return;
  }
  if (inst.op == Op::div && composite_c) {  // scalar / vector, component by component
    for (int i = 0; i < types.count(inst.type); ++i) {
      const ValueId part = b_.binary(Op::div, b_.extract(adjoint, i), b_.extract(primal(c), i));
      if (active(a)) contribute(a, part);
      const ValueId quotient = b_.extract(primal(id), i);
      contribute_part(c, i, b_.unary(Op::neg, mul(part, quotient)));
    }
    return;
  }
  const ValueId x = primal(a);
  const ValueId y = primal(c);
  const TypeId type = inst.type;
  switch (inst.op) {
    case Op::div: {
      const ValueId part = b_.binary(Op::div, adjoint, y);
      contribute(a, part);
      if (!active(c)) return;
      const ValueId quotient = primal(id);
      const ValueId amount = composite_a ? dot(part, quotient) : mul(part, quotient);
      return contribute(c, b_.unary(Op::neg, amount));
    }
    case Op::mod: {  // x - trunc(x / y) * y
      contribute(a, adjoint);
      if (!active(c)) return;
      if (types.is_composite(type)) {
        for (int i = 0; i < types.count(type); ++i) {
          const ValueId whole =
              b_.unary(Op::trunc, b_.binary(Op::div, b_.extract(x, i), b_.extract(y, i)));
          contribute_part(c, i, b_.unary(Op::neg, mul(b_.extract(adjoint, i), whole)));
        }
        return;
      }
      return contribute(
          c, b_.unary(Op::neg, mul(adjoint, b_.unary(Op::trunc, b_.binary(Op::div, x, y)))));
    }
    case Op::pow: {
      if (active(a)) {
        const ValueId lower = b_.emit(Op::pow, type, {x, b_.binary(Op::sub, y, number(type, 1))});
        contribute(a, mul(adjoint, mul(y, lower)));
      }
      if (!active(c)) return;
      const ValueId positive = b_.compare(Op::gt, x, number(type, 0));
      const ValueId slope = mul(primal(id), b_.unary(Op::log, x));
      return contribute(
          c, b_.emit(Op::select, type, {positive, mul(adjoint, slope), number(type, 0)}));
    }
    case Op::atan2: {
      const ValueId part = b_.binary(Op::div, adjoint, add(mul(x, x), mul(y, y)));
      if (active(a)) contribute(a, mul(part, y));
      if (active(c)) contribute(c, b_.unary(Op::neg, mul(part, x)));
      return;
    }
    case Op::copysign: {
      if (!active(a)) return;
      const ValueId flipped = b_.compare(Op::ne, b_.emit(Op::copysign, type, {number(type, 1), x}),
                                         b_.emit(Op::copysign, type, {number(type, 1), y}));
      return contribute(a,
                        b_.emit(Op::select, type, {flipped, b_.unary(Op::neg, adjoint), adjoint}));
    }
    default: {  // min, max; of equal values the first takes it all
      const ValueId first = b_.compare(inst.op == Op::min ? Op::le : Op::ge, x, y);
      const ValueId zero = number(type, 0);
      if (active(a)) contribute(a, b_.emit(Op::select, type, {first, adjoint, zero}));
      if (active(c)) contribute(c, b_.emit(Op::select, type, {first, zero, adjoint}));
      return;
    }
  }
}

void Reverse::rule_unary(const Inst& inst, ValueId id, ValueId adjoint) {
  const ValueId a = w_.arg(inst, 0);
  const TypeId type = inst.type;
  if (!active(a) || !module_.types.is_float_scalar(type)) return;
  const auto one = [&] { return number(type, 1); };
  const auto x = [&] { return primal(a); };
  const auto r = [&] { return primal(id); };
  const auto times = [&](ValueId slope) { contribute(a, mul(adjoint, slope)); };
  const auto over = [&](ValueId divisor) { contribute(a, b_.binary(Op::div, adjoint, divisor)); };
  constexpr double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;
  constexpr double kHalfRootPi = 0.5 / std::numbers::inv_sqrtpi;
  switch (inst.op) {
    case Op::abs: return times(b_.unary(Op::sign, x()));
    case Op::sqrt: return over(scaled(r(), 2));
    case Op::cbrt: return over(scaled(mul(r(), r()), 3));
    case Op::exp: return times(r());
    case Op::log: return over(x());
    case Op::log2: return over(scaled(x(), std::numbers::ln2));
    case Op::log10: return over(scaled(x(), std::numbers::ln10));
    case Op::sin: return times(b_.unary(Op::cos, x()));
    case Op::cos: return contribute(a, b_.unary(Op::neg, mul(adjoint, b_.unary(Op::sin, x()))));
    case Op::tan: return times(add(one(), mul(r(), r())));
    case Op::asin: return over(b_.unary(Op::sqrt, b_.binary(Op::sub, one(), mul(x(), x()))));
    case Op::acos:
      return contribute(
          a, b_.unary(Op::neg,
                      b_.binary(Op::div, adjoint,
                                b_.unary(Op::sqrt, b_.binary(Op::sub, one(), mul(x(), x()))))));
    case Op::atan: return over(add(one(), mul(x(), x())));
    case Op::sinh: return times(b_.unary(Op::cosh, x()));
    case Op::cosh: return times(b_.unary(Op::sinh, x()));
    case Op::tanh: return times(b_.binary(Op::sub, one(), mul(r(), r())));
    case Op::erf:
      return times(scaled(b_.unary(Op::exp, b_.unary(Op::neg, mul(x(), x()))), kTwoOverRootPi));
    case Op::erfc:
      return times(scaled(b_.unary(Op::exp, b_.unary(Op::neg, mul(x(), x()))), -kTwoOverRootPi));
    case Op::erfinv: return times(scaled(b_.unary(Op::exp, mul(r(), r())), kHalfRootPi));
    case Op::erfcinv: return times(scaled(b_.unary(Op::exp, mul(r(), r())), -kHalfRootPi));
    default: return;  // floor, sign and the like are constant almost everywhere
  }
}

// Every thread of the block has the result, so that its adjoint is the sum of theirs. Threads whose
// values are the extreme have equal shares of it.
void Reverse::rule_block(const Inst& inst, ValueId id, ValueId adjoint) {
  const ValueId a = w_.arg(inst, 0);
  if (!active(a)) return;
  const TypeId type = inst.type;
  const auto sum = [&](ValueId value) { return b_.emit(Op::block_sum, type, {value}); };
  const ValueId total = sum(adjoint);
  if (inst.op == Op::block_sum) return contribute(a, total);
  const ValueId zero = number(type, 0);
  const ValueId extreme = b_.compare(Op::eq, primal(a), primal(id));
  const ValueId count = sum(b_.emit(Op::select, type, {extreme, number(type, 1), zero}));
  contribute(a, b_.emit(Op::select, type, {extreme, b_.binary(Op::div, total, count), zero}));
}

void Reverse::rule_composite(const Inst& inst, ValueId adjoint) {
  const TypeTable& types = module_.types;
  const ValueId whole = w_.arg(inst, 0);
  if (inst.op == Op::make) {
    const bool structure = types.is(inst.type, TypeKind::structure);
    for (std::uint32_t i = 0; i < inst.count; ++i) {
      if (!active(w_.arg(inst, i))) continue;
      contribute(w_.arg(inst, i), structure ? b_.field(adjoint, i) : b_.extract(adjoint, i));
    }
    return;
  }
  if (inst.op == Op::field) return contribute_part(whole, inst.imm, adjoint);
  if (inst.op == Op::insert_field) {
    const ValueId value = w_.arg(inst, 1);
    if (active(value)) contribute(value, b_.field(adjoint, static_cast<std::uint32_t>(inst.imm)));
    if (!active(whole)) return;
    if (!types.has_float(w_[value].type)) return contribute(whole, adjoint);
    return contribute(
        whole, b_.emit(Op::insert_field, inst.type, {adjoint, b_.zero(w_[value].type)}, inst.imm));
  }
  const std::uint32_t n_indices = inst.op == Op::extract ? inst.count - 1 : inst.count - 2;
  const Type of = types[w_[whole].type];
  bool fixed = !(of.kind == TypeKind::mat && n_indices == 1);
  std::int64_t part = 0;
  std::vector<ValueId> indices;
  for (std::uint32_t i = 0; i < n_indices; ++i) {
    const Inst& index = w_[w_.arg(inst, 1 + i)];
    fixed = fixed && index.op == Op::constant;
    part = part * (of.kind == TypeKind::mat ? of.cols : 1) + index.imm;
    indices.push_back(primal(w_.arg(inst, 1 + i)));
  }
  const auto at = [&](ValueId value, TypeId type) {
    std::vector<ValueId> operands{value};
    operands.insert(operands.end(), indices.begin(), indices.end());
    return b_.emit(Op::extract, type, operands);
  };
  const auto replaced = [&](ValueId value, ValueId by) {
    std::vector<ValueId> operands{value};
    operands.insert(operands.end(), indices.begin(), indices.end());
    operands.push_back(by);
    return b_.emit(Op::insert, w_[whole].type, operands);
  };
  if (inst.op == Op::extract) {
    if (fixed) return contribute_part(whole, part, adjoint);
    if (!active(whole)) return;
    return contribute(whole, replaced(b_.zero(w_[whole].type), adjoint));
  }
  const ValueId value = w_.arg(inst, inst.count - 1);
  if (active(value)) contribute(value, at(adjoint, w_[value].type));
  if (active(whole)) contribute(whole, replaced(adjoint, b_.zero(w_[value].type)));
}

}  // namespace causeway::lang::adjoint
