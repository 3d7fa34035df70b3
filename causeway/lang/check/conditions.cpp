// Comparisons, and, or, and conditional expressions.
#include "causeway/lang/check/checker.h"

namespace causeway::lang {

bool Checker::is_pure(BlockId block) const {
  const Function& function = frame_->function;
  for (const ValueId id : function.blocks[block].insts) {
    const Inst& inst = function[id];
    const bool float_division =
        (inst.op == Op::div || inst.op == Op::mod) && module_.types.has_float(inst.type);
    if (inst.op == Op::call) {
      const Function& callee = module_.functions[static_cast<std::size_t>(inst.imm)];
      if (!callee.helper || callee.effects) return false;
      continue;
    }
    if (inst.op == Op::get) continue;
    if (info(inst.op).trait != 'p' && !float_division) return false;
  }
  return true;
}

// Moves the instructions of a block to the current one.
void Checker::splice(BlockId block) {
  Function& function = frame_->function;
  const std::vector<ValueId> moved = std::move(function.blocks[block].insts);
  function.blocks[block].insts.clear();
  auto& here = function.blocks[b().block()].insts;
  here.insert(here.end(), moved.begin(), moved.end());
}

Operand Checker::logical(const Expr& node) {
  const bool conjunction = node.text == "and";
  const ValueId left = truth(value(node.a), expr(node.a).span);
  const BlockId outer = b().block();
  const BlockId inner = b().new_block();
  b().set_block(inner);
  const ValueId right = truth(value(node.b), expr(node.b).span);
  if (is_pure(inner)) {
    b().set_block(outer);
    splice(inner);
    return Operand::value(
        b().emit(conjunction ? Op::logical_and : Op::logical_or, kBool, {left, right}), kBool);
  }
  b().emit(Op::yield, kNone, {right});
  const BlockId other = b().new_block();
  b().set_block(other);
  b().emit(Op::yield, kNone, {b().boolean(!conjunction)});
  b().set_block(outer);
  b().set_span(node.span);
  return Operand::value(b().emit(Op::cond, kBool, {left}, 0, conjunction ? inner : other,
                                 conjunction ? other : inner),
                        kBool);
}

Operand Checker::conditional(const Expr& node) {
  const ValueId condition = truth(value(node.b), expr(node.b).span);
  const BlockId outer = b().block();
  const BlockId blocks[2] = {b().new_block(), b().new_block()};
  Operand sides[2];
  for (int i = 0; i < 2; ++i) {
    b().set_block(blocks[i]);
    sides[i] = value(i == 0 ? node.a : node.c);
  }
  b().set_block(outer);
  if (frame_->prelude && sides[0].type != sides[1].type) {
    for (int i = 0; i < 2; ++i) {
      b().set_block(blocks[i]);
      if (sides[i].literal)
        sides[i] = Operand::value(b().cast(sides[i].id, sides[1 - i].type), sides[1 - i].type);
    }
    b().set_block(outer);
  }
  check_same(sides[1].type, sides[0].type, expr(node.c).span,
             "both values of a conditional expression must have the same type");
  b().set_span(node.span);
  const TypeId type = sides[0].type;
  if (is_pure(blocks[0]) && is_pure(blocks[1])) {
    splice(blocks[0]);
    splice(blocks[1]);
    return Operand::value(b().emit(Op::select, type, {condition, sides[0].id, sides[1].id}), type);
  }
  for (int i = 0; i < 2; ++i) {
    b().set_block(blocks[i]);
    b().emit(Op::yield, kNone, {sides[i].id});
  }
  b().set_block(outer);
  return Operand::value(b().emit(Op::cond, type, {condition}, 0, blocks[0], blocks[1]), type);
}

Operand Checker::compare(const Expr& node) {
  Operand left = value(node.a);
  Operand result;
  const Item* items = frame_->tree->begin(node.items);
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    const Operand right = value(items[i].value);
    if (node.items.count > 1 && left.type != right.type) {
      fail(node.span, {"a chained comparison needs equal types",
                       describe(left) + " and " + describe(right), ""});
    }
    const Operand part = compare_pair(items[i].keyword, left, right, node.span);
    result = i == 0 ? part
                    : Operand::value(b().emit(Op::logical_and, kBool, {result.id, part.id}), kBool);
    left = right;
  }
  return result;
}

Operand Checker::compare_pair(std::string_view text, Operand a, Operand c, Span span) {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::eq}, {"!=", Op::ne}, {"<", Op::lt}, {"<=", Op::le}, {">", Op::gt}, {">=", Op::ge}};
  Op op = Op::eq;
  for (const auto& [candidate, found] : kOps) {
    if (candidate == text) op = found;
  }
  const TypeTable& types = module_.types;
  if (frame_->prelude) adapt_literals(a, c);
  if (types.is_scalar(a.type) && types.is_scalar(c.type)) {
    if (a.type != c.type) {
      // As C++ compares numbers of different types: in the one that is wider, floats before
      // integers.
      const Scalar sa = types[a.type].scalar;
      const Scalar sc = types[c.type].scalar;
      const auto rank = [](Scalar s) {
        return is_float(s) ? 100 + static_cast<int>(size_of(s))
                           : static_cast<int>(size_of(s)) * 2 + (is_unsigned(s) ? 1 : 0);
      };
      Scalar wide = rank(sa) > rank(sc) ? sa : sc;
      if (rank(wide) < rank(Scalar::i32)) wide = Scalar::i32;
      a.id = b().cast(a.id, scalar_type(wide));
      c.id = b().cast(c.id, scalar_type(wide));
    }
    b().set_span(span);
    return Operand::value(b().compare(op, a.id, c.id), kBool);
  }
  const bool equality = op == Op::eq || op == Op::ne;
  if (a.type == c.type && types.is_composite(a.type) && equality) {
    b().set_span(span);
    return Operand::value(b().compare(op, a.id, c.id), kBool);
  }
  fail(span, {"these types cannot be compared with " + std::string(text),
              describe(a) + " and " + describe(c)});
}

}  // namespace causeway::lang
