// Calls of types: casts, vectors, matrices, quaternions and structs.
#include "causeway/lang/check/checker.h"

#include "causeway/core/shown.h"

namespace causeway::lang {

Operand Checker::call_type_object(TypeId type, const Expr& node) {
  switch (module_.types[type].kind) {
    case TypeKind::scalar: return cast_scalar(type, node);
    case TypeKind::vec:
    case TypeKind::mat:
    case TypeKind::quat: return make_vector(type, arguments(node), node.span);
    case TypeKind::structure: return make_struct(type, node);
    default: break;
  }
  fail(node.span,
       {"arrays cannot be created in a kernel", "", "", "pass the array as an argument"});
}

Operand Checker::cast_scalar(TypeId type, const Expr& node) {
  check_arity(node, 0, 1, name(type));
  if (node.items.count == 0) return Operand::value(b().zero(type), type);
  const ExprId argument = frame_->tree->begin(node.items)->value;
  const Expr* literal_node = &expr(argument);
  const bool negative = literal_node->kind == ExprKind::unary && literal_node->text == "-";
  if (negative) literal_node = &expr(literal_node->a);
  Operand result;
  if (literal_node->kind == ExprKind::integer || literal_node->kind == ExprKind::real) {
    // Directly from the digits: wp.int64(5000000000), wp.float64(0.1).
    const double real = literal_node->kind == ExprKind::real
                            ? literal_node->real
                            : static_cast<double>(literal_node->integer);
    const bool whole =
        literal_node->kind == ExprKind::integer && !is_float(module_.types[type].scalar);
    const std::int64_t integer = negative ? -literal_node->integer : literal_node->integer;
    if (type == kBool) {
      result = Operand::value(b().boolean(real != 0), type);
    } else {
      result = Operand::value(
          whole ? b().constant_int(type, integer) : b().constant(type, negative ? -real : real),
          type);
    }
  } else {
    const Operand operand = value(argument);
    if (!module_.types.is_scalar(operand.type)) {
      fail(node.span, {"only a scalar can be converted to " + name(type), describe(operand)});
    }
    b().set_span(node.span);
    const ValueId id = type == kBool ? truth(operand, node.span) : b().cast(operand.id, type);
    result = Operand::value(id, type);
  }
  result.literal = frame_->prelude && b().inst(result.id).op == Op::constant && type == kI32;
  return result;
}

Operand Checker::convert_composite(const Operand& operand, TypeId type) {
  if (operand.type == type) return operand;
  const int n = module_.types.count(type);
  const TypeId scalar = scalar_type(module_.types[type].scalar);
  std::vector<ValueId> parts;
  for (int i = 0; i < n; ++i) parts.push_back(b().cast(b().extract(operand.id, i), scalar));
  return Operand::value(b().emit(Op::make, type, parts), type);
}

Operand Checker::make_vector(TypeId type, std::vector<Operand> parts, Span span) {
  const Type of = module_.types[type];
  const TypeId scalar = scalar_type(of.scalar);
  const auto n = static_cast<std::size_t>(module_.types.count(type));
  if (parts.size() == 1 && parts[0].kind == Operand::Kind::tuple) parts = groups_[parts[0].group];
  b().set_span(span);
  if (parts.empty()) return Operand::value(b().emit(Op::zero, type, {}), type);
  if (parts.size() == 1 && parts[0].is_value() && module_.types.is_composite(parts[0].type)) {
    const Type& from = module_.types[parts[0].type];
    if (from.kind == of.kind && from.rows == of.rows && from.cols == of.cols)
      return convert_composite(parts[0], type);
  }
  std::vector<ValueId> values;
  for (const Operand& part : parts) {
    if (!part.is_value()) fail(span, {"this cannot be part of " + name(type), describe(part)});
    const bool vector = module_.types.is(part.type, TypeKind::vec);
    if (vector && of.kind == TypeKind::quat && parts.size() == 2 &&
        module_.types[part.type].rows == 3 && module_.types[part.type].scalar == of.scalar) {
      for (int i = 0; i < 3; ++i) values.push_back(b().extract(part.id, i));
      continue;
    }
    const bool literal = b().inst(part.id).op == Op::constant &&
                         module_.types.is_scalar(part.type) && part.type != kBool &&
                         (part.literal || frame_->prelude || b().inst(part.id).name.empty());
    if (part.type != scalar && !literal) {
      fail(span,
           {"values of " + name(type) + " must be of its scalar type", describe(part), name(scalar),
            module_.types.is_scalar(part.type) ? "convert with " + name(scalar) + "(…)" : ""});
    }
    values.push_back(b().cast(part.id, scalar));
  }
  if (values.size() == 1 && of.kind != TypeKind::quat) values.resize(n, values[0]);
  if (values.size() != n) {
    fail(span, {"wrong number of values for " + name(type), std::to_string(values.size()),
                of.kind == TypeKind::quat ? "0 or 4" : "0, 1 or " + std::to_string(n)});
  }
  return Operand::value(b().emit(Op::make, type, values), type);
}

Operand Checker::make_struct(TypeId type, const Expr& node) {
  if (module_.types.has_array(type)) {
    fail(node.span, {"a struct with arrays cannot be created in a kernel", name(type), "",
                     "pass it as an argument"});
  }
  const std::vector<Field> fields = module_.types.structure(type).fields;
  if (node.items.count == 0) return Operand::value(b().emit(Op::zero, type, {}), type);
  check_arity(node, fields.size(), fields.size(), name(type));
  const Item* items = frame_->tree->begin(node.items);
  std::vector<ValueId> values(fields.size());
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    std::size_t at = i;
    if (!items[i].keyword.empty()) {
      for (at = 0; at < fields.size() && fields[at].name != items[i].keyword; ++at) {
      }
      if (at == fields.size()) {
        fail(expr(items[i].value).span,
             {name(type) + " has no attribute " + shown(items[i].keyword)});
      }
    }
    const Operand operand = value(items[i].value);
    check_same(operand.type, fields[at].type, expr(items[i].value).span,
               "value does not match the field");
    values[at] = operand.id;
  }
  return Operand::value(b().emit(Op::make, type, values), type);
}

}  // namespace causeway::lang
