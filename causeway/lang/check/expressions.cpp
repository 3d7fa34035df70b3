// Names, literals, constants and attributes.
#include "causeway/lang/check/checker.h"

#include "causeway/core/shown.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace causeway::lang {

std::string Checker::describe(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::none: return "None";
    case Operand::Kind::type: return "the type " + module_.types.name(operand.type);
    case Operand::Kind::tuple: {
      std::string text;
      for (const Operand& member : groups_[operand.group]) {
        text += (text.empty() ? "(" : ", ") + describe(member);
      }
      return text + ")";
    }
    default: return module_.types.name(operand.type);
  }
}

Operand Checker::expression(ExprId id) {
  const Expr& node = expr(id);
  b().set_span(node.span);
  switch (node.kind) {
    case ExprKind::name: return name_expression(node);
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::boolean: return literal(node);
    case ExprKind::none: return {};
    case ExprKind::string: fail(node.span, {"strings are not supported here"});
    case ExprKind::unary: {
      const Expr& inner = expr(node.a);
      if (node.text == "-" && inner.kind == ExprKind::integer && inner.integer == (1LL << 31)) {
        return Operand::value(b().index(-inner.integer), kI32, false);
      }
      return unary(node.text, value(node.a), node.span);
    }
    case ExprKind::binary: {
      const Operand left = value(node.a);
      const Operand right = value(node.b);
      return binary(node.text, left, right, node.span);
    }
    case ExprKind::compare: return compare(node);
    case ExprKind::logical: return logical(node);
    case ExprKind::condition: return conditional(node);
    case ExprKind::call: return call(node);
    case ExprKind::attribute: return attribute(node);
    case ExprKind::subscript: return subscript(node);
    case ExprKind::tuple: {
      std::vector<Operand> members;
      for (std::uint32_t i = 0; i < node.items.count; ++i) {
        members.push_back(expression(frame_->tree->begin(node.items)[i].value));
      }
      return group_of(Operand::Kind::tuple, kNone, std::move(members));
    }
    case ExprKind::list:
      fail(node.span, {"lists are not supported in kernels", "", "",
                       "use a vector such as wp.vec3(…) for a few values"});
    case ExprKind::slice:
    case ExprKind::ellipsis: break;
  }
  fail(node.span, {"slices are not supported here"});
}

Operand Checker::value(ExprId id) {
  const Operand operand = expression(id);
  if (operand.is_value()) return operand;
  fail(expr(id).span, {"this is not a value", describe(operand),
                       "a scalar, vector, matrix, quaternion or struct"});
}

Operand Checker::read_binding(Binding& binding) {
  if (!binding.variable) {
    Operand operand = binding.operand;
    operand.literal = frame_->prelude && operand.literal;
    return operand;
  }
  return Operand::value(b().get(binding.operand.id), binding.operand.type);
}

namespace {

Expr literal_node(const Constant& constant, Span span) {
  Expr node;
  node.span = span;
  node.kind = constant.kind == Constant::Kind::boolean   ? ExprKind::boolean
              : constant.kind == Constant::Kind::integer ? ExprKind::integer
                                                         : ExprKind::real;
  node.integer = constant.integer;
  node.real = constant.real;
  return node;
}

}  // namespace

Operand Checker::name_expression(const Expr& node) {
  if (Binding* binding = find_binding(node.text)) return read_binding(*binding);
  if (const PatternBinding* bound = pattern(node.text); bound != nullptr && bound->type == kNone) {
    return Operand::value(b().index(bound->length), kI32, true);
  }
  if (!frame_->prelude) {
    for (const ConstantNode& constant : tree_.constants) {
      if (constant.name == node.text) return constant_value(constant);
    }
    const auto found = options_.constants.find(node.text);
    if (found != options_.constants.end()) {
      const Constant& constant = found->second;
      if (constant.kind < Constant::Kind::vector) return literal(literal_node(constant, node.span));
      const Scalar scalar = promoted(constant.scalar);
      std::vector<ValueId> parts;
      for (const double x : constant.values) parts.push_back(b().constant(scalar_type(scalar), x));
      const TypeId type = constant.kind == Constant::Kind::vector
                              ? module_.types.vec(constant.rows, scalar)
                              : module_.types.mat(constant.rows, constant.cols, scalar);
      return Operand::value(b().emit(Op::make, type, parts), type);
    }
  }
  TypeId type = kNone;
  const ExprId id = static_cast<ExprId>(&node - frame_->tree->exprs.data());
  if (try_type(id, type)) {
    Operand operand;
    operand.kind = Operand::Kind::type;
    operand.type = type;
    return operand;
  }
  if (is_user_function(node.text)) {
    fail(node.span, {"function \"" + std::string(node.text) + "\" must be called"});
  }
  fail_unknown(node.text, node.span);
}

// The value of a global NAME = expression, evaluated at each use.
Operand Checker::constant_value(const ConstantNode& node) {
  for (const auto& alias : aliases_) {
    if (alias.first == node.name) {
      Operand operand;
      operand.kind = Operand::Kind::type;
      operand.type = alias.second;
      return operand;
    }
  }
  for (const std::string_view busy : busy_constants_) {
    if (busy == node.name)
      fail(node.span, {"constant \"" + std::string(node.name) + "\" depends on itself"});
  }
  busy_constants_.push_back(node.name);
  Frame* const frame = frame_;
  std::vector<Binding> hidden;
  std::swap(hidden, frame->bindings);
  Operand result = expression(node.value);
  std::swap(hidden, frame->bindings);
  busy_constants_.pop_back();
  result.literal = true;
  return result;
}

Operand Checker::literal(const Expr& node) {
  if (node.kind == ExprKind::boolean)
    return Operand::value(b().boolean(node.integer != 0), kBool, true);
  if (node.kind == ExprKind::real) {
    const TypeId type = scalar_type(promoted(Scalar::f32));
    return Operand::value(b().constant(type, node.real), type, true);
  }
  if (node.integer < std::numeric_limits<std::int32_t>::min() ||
      node.integer > std::numeric_limits<std::int32_t>::max()) {
    fail(node.span, {"integer literal does not fit int32", "", "",
                     "write wp.int64(…), wp.uint32(…) or wp.uint64(…)"});
  }
  return Operand::value(b().index(node.integer), kI32, true);
}

Operand Checker::attribute(const Expr& node) {
  bool is_module = false;
  const bool bound =
      expr(node.a).kind == ExprKind::name && find_binding(expr(node.a).text) != nullptr;
  const std::string_view text = bound ? std::string_view{} : callee_name(node, is_module);
  if (is_module) {
    static constexpr double kInf = std::numeric_limits<double>::infinity();
    static constexpr std::pair<std::string_view, double> kConstants[] = {
        {"pi", std::numbers::pi},
        {"PI", std::numbers::pi},
        {"half_pi", std::numbers::pi / 2},
        {"HALF_PI", std::numbers::pi / 2},
        {"tau", 2 * std::numbers::pi},
        {"TAU", 2 * std::numbers::pi},
        {"e", std::numbers::e},
        {"E", std::numbers::e},
        {"log2e", std::numbers::log2e},
        {"LOG2E", std::numbers::log2e},
        {"log10e", std::numbers::log10e},
        {"LOG10E", std::numbers::log10e},
        {"ln2", std::numbers::ln2},
        {"LN2", std::numbers::ln2},
        {"ln10", std::numbers::ln10},
        {"LN10", std::numbers::ln10},
        {"phi", std::numbers::phi},
        {"PHI", std::numbers::phi},
        {"inf", kInf},
        {"INF", kInf},
        {"nan", std::numeric_limits<double>::quiet_NaN()},
        {"NAN", std::numeric_limits<double>::quiet_NaN()}};
    for (const auto& [name, number] : kConstants) {
      if (name != text) continue;
      const TypeId type = scalar_type(promoted(Scalar::f32));
      return Operand::value(b().constant(type, number), type, true);
    }
    TypeId type = kNone;
    if (named_type(text, type)) {
      Operand operand;
      operand.kind = Operand::Kind::type;
      operand.type = type;
      return operand;
    }
    if (find_builtin(text) != nullptr) {
      fail(node.span, {"builtin \"" + std::string(text) + "\" must be called"});
    }
    std::vector<std::string_view> names;
    for (const Builtin& builtin : builtins()) names.push_back(builtin.name);
    const std::string_view near = nearest_name(text, names);
    fail(node.span, {"unknown name \"" + std::string(frame_->source->text(node.span)) + "\"", "",
                     "", near.empty() ? "" : "did you mean \"wp." + std::string(near) + "\"?"});
  }
  return attribute_of(expression(node.a), node.text, node.span);
}

Operand Checker::attribute_of(const Operand& object, std::string_view name, Span span) {
  const TypeTable& types = module_.types;
  if (object.kind == Operand::Kind::group) {
    const auto& fields = types.structure(object.type).fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == name) return groups_[object.group][i];
    }
  }
  if (object.kind == Operand::Kind::array && name == "shape") {
    std::vector<Operand> dims;
    for (int i = 0; i < types[object.type].ndim; ++i) {
      dims.push_back(
          Operand::value(b().emit(Op::shape, kI32, {object.id}, i + object.n_prefix), kI32));
    }
    return group_of(Operand::Kind::tuple, kNone, std::move(dims));
  }
  if (object.is_value() && types.is(object.type, TypeKind::structure)) {
    const auto& fields = types.structure(object.type).fields;
    for (std::uint32_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == name) return Operand::value(b().field(object.id, i), fields[i].type);
    }
  }
  if (object.is_value() &&
      (types.is(object.type, TypeKind::vec) || types.is(object.type, TypeKind::quat))) {
    const std::size_t component = std::string_view("xyzw").find(name);
    if (name.size() == 1 && component != std::string_view::npos &&
        component < types[object.type].rows) {
      return Operand::value(b().extract(object.id, static_cast<std::int64_t>(component)),
                            scalar_type(types[object.type].scalar));
    }
  }
  std::vector<std::string_view> names;
  if (object.type != kNone && types.is(object.type, TypeKind::structure)) {
    for (const Field& field : types.structure(object.type).fields) names.push_back(field.name);
  }
  const std::string_view near = nearest_name(name, names);
  fail(span, {describe(object) + " has no attribute \"" + std::string(name) + "\"", "", "",
              near.empty() ? "" : "did you mean \"" + std::string(near) + "\"?"});
}

ValueId Checker::truth(const Operand& operand, Span span) {
  if (operand.type == kBool) return operand.id;
  if (!module_.types.is_scalar(operand.type)) {
    fail(span, {"a condition must be a scalar", describe(operand), "bool"});
  }
  const ValueId zero = b().zero(operand.type);
  return b().compare(Op::ne, operand.id, zero);
}

}  // namespace causeway::lang
