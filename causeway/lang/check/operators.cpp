// Arithmetic on values: equal types, no promotion.
#include "causeway/lang/check/checker.h"

namespace causeway::lang {

namespace {

struct Operator {
  std::string_view text;
  Op op;
  char domain;  // n numbers, i integers, f floats
};

constexpr Operator kOperators[] = {
    {"+", Op::add, 'n'},    {"-", Op::sub, 'n'},     {"*", Op::mul, 'n'},  {"/", Op::div, 'n'},
    {"%", Op::mod, 'n'},    {"//", Op::div, 'n'},    {"**", Op::pow, 'f'}, {"&", Op::bit_and, 'i'},
    {"|", Op::bit_or, 'i'}, {"^", Op::bit_xor, 'i'}, {"<<", Op::shl, 'i'}, {">>", Op::shr, 'i'},
    {"@", Op::mul, 'n'}};

}  // namespace

// In the prelude a literal takes the type of the other side.
void Checker::adapt_literals(Operand& a, Operand& c) {
  const TypeTable& types = module_.types;
  const auto adapt = [&](Operand& weak, const Operand& other) {
    if (!weak.literal || other.literal || weak.type == other.type) return;
    if (!types.is_scalar(weak.type) || weak.type == kBool) return;
    const TypeId type = scalar_type(types[other.type].scalar);
    weak.id = b().cast(weak.id, type);
    weak.type = type;
  };
  adapt(a, c);
  adapt(c, a);
}

Operand Checker::unary(std::string_view text, Operand a, Span span) {
  const TypeTable& types = module_.types;
  b().set_span(span);
  if (text == "not") {
    const ValueId condition = truth(a, span);
    return Operand::value(b().emit(Op::logical_not, kBool, {condition}), kBool);
  }
  const bool number = (types.is_scalar(a.type) && a.type != kBool) || types.is_composite(a.type);
  if (text == "~" && types.is_int_scalar(a.type)) {
    return Operand::value(b().unary(Op::bit_not, a.id), a.type);
  }
  if (text == "+" && number) return a;
  if (text == "-" && number) {
    const Inst inst = b().inst(a.id);
    if (a.literal && inst.op == Op::constant) {
      const ValueId id = is_float(types[a.type].scalar) ? b().constant(a.type, -inst.real())
                                                        : b().constant_int(a.type, -inst.imm);
      return Operand::value(id, a.type, frame_->prelude);
    }
    return Operand::value(b().unary(Op::neg, a.id), a.type);
  }
  fail(span, {"operator " + std::string(text) + " does not take this type", describe(a),
              text == "~" ? "an integer" : "a number, vector, matrix or quaternion"});
}

Operand Checker::binary(std::string_view text, Operand a, Operand c, Span span) {
  for (const Operator& candidate : kOperators) {
    if (candidate.text != text) continue;
    if (frame_->prelude) {
      const bool folds = a.literal && c.literal && a.type == kI32 && c.type == kI32;
      adapt_literals(a, c);
      Operand result = arithmetic(candidate.op, text, a, c, span);
      if (folds && candidate.op != Op::div && candidate.op != Op::mod) {
        const std::int64_t x = b().inst(a.id).imm;
        const std::int64_t y = b().inst(c.id).imm;
        const std::int64_t z = candidate.op == Op::add   ? x + y
                               : candidate.op == Op::sub ? x - y
                                                         : x * y;
        return Operand::value(b().index(z), kI32, true);
      }
      return result;
    }
    return arithmetic(candidate.op, text, a, c, span);
  }
  fail(span, {"operator " + std::string(text) + " is not supported"});
}

Operand Checker::arithmetic(Op op, std::string_view text, Operand a, Operand c, Span span) {
  const TypeTable& types = module_.types;
  b().set_span(span);
  const Type ta = types[a.type];
  const Type tc = types[c.type];
  const bool scalars = types.is_scalar(a.type) && types.is_scalar(c.type);
  const auto refuse = [&]() {
    std::string hint;
    if (scalars && a.type != c.type && a.type != kBool && c.type != kBool) {
      hint = "convert one side: " + name(c.literal ? a.type : c.type) + "(…)";
      if (text == "**") hint = "** takes two floats of one type";
    }
    const std::string expected = scalars && a.type != c.type ? "operands of one type" : "";
    fail(span, {"operator " + std::string(text) + " does not take these types",
                describe(a) + " and " + describe(c), expected, hint});
  };
  const char domain = op == Op::pow ? 'f' : op >= Op::bit_and && op <= Op::shr ? 'i' : 'n';
  if (scalars) {
    const bool fits = a.type == c.type && a.type != kBool && text != "@" &&
                      (domain == 'n' || (domain == 'i' ? is_int(ta.scalar) : is_float(ta.scalar)));
    if (!fits) refuse();
    if (text == "//" && is_float(ta.scalar)) {
      return Operand::value(b().unary(Op::floor, b().binary(Op::div, a.id, c.id)), a.type);
    }
    const bool zero = c.literal && !is_float(ta.scalar) && b().inst(c.id).op == Op::constant &&
                      b().inst(c.id).imm == 0;
    if ((op == Op::div || op == Op::mod) && zero) fail(span, {"integer division by zero"});
    if (text == "//" && !is_unsigned(ta.scalar)) return call_prelude("floor_div", {a, c}, span);
    return Operand::value(b().emit(op, a.type, {a.id, c.id}), a.type);
  }
  const bool composite_a = types.is_composite(a.type);
  const bool composite_c = types.is_composite(c.type);
  if ((!composite_a && !types.is_scalar(a.type)) || (!composite_c && !types.is_scalar(c.type)) ||
      ta.scalar != tc.scalar || ta.scalar == Scalar::boolean || text == "//" || domain == 'f') {
    refuse();
  }
  const bool quats = ta.kind == TypeKind::quat || tc.kind == TypeKind::quat;
  if (domain == 'i') {
    if (a.type != c.type || ta.kind != TypeKind::vec || !is_int(ta.scalar)) refuse();
    return Operand::value(b().emit(op, a.type, {a.id, c.id}), a.type);
  }
  if (op == Op::add || op == Op::sub) {
    if (a.type != c.type) refuse();
    return Operand::value(b().emit(op, a.type, {a.id, c.id}), a.type);
  }
  if (op == Op::mod) {
    if (a.type != c.type || ta.kind != TypeKind::vec) refuse();
    return Operand::value(b().emit(op, a.type, {a.id, c.id}), a.type);
  }
  if (op == Op::div) {
    if (composite_a == composite_c) refuse();
    return Operand::value(b().binary(op, a.id, c.id), composite_a ? a.type : c.type);
  }
  if (composite_a && composite_c) {  // products of matrices, vectors and quaternions
    const bool product =
        (quats && a.type == c.type) ||
        (ta.kind == TypeKind::mat && tc.kind == TypeKind::mat && ta.cols == tc.rows) ||
        (ta.kind == TypeKind::mat && tc.kind == TypeKind::vec && ta.cols == tc.rows) ||
        (ta.kind == TypeKind::vec && tc.kind == TypeKind::mat && ta.rows == tc.rows);
    if (!product) refuse();
    return call_prelude("mul", {a, c}, span);
  }
  if (text == "@") refuse();
  return Operand::value(b().binary(op, a.id, c.id), composite_a ? a.type : c.type);
}

}  // namespace causeway::lang
