// Names, literals, attributes, indices, comparisons and conditions.
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

// The value of NAME = expression at the top of the text, made anew where it is read.
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

std::vector<ValueId> Checker::indices(const Expr& node) {
  std::vector<ValueId> result;
  const Item* items = frame_->tree->begin(node.items);
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    if (expr(items[i].value).kind == ExprKind::slice) {
      fail(expr(items[i].value).span, {"slices are supported only for reading a vector"});
    }
    const Operand index = value(items[i].value);
    if (!module_.types.is_int_scalar(index.type)) {
      fail(expr(items[i].value).span,
           {"an index must be an integer", describe(index), "an integer", "convert with int()"});
    }
    result.push_back(index.id);
  }
  return result;
}

Operand Checker::subscript(const Expr& node) {
  const Operand object = expression(node.a);
  const Item* items = frame_->tree->begin(node.items);
  if (object.kind == Operand::Kind::tuple) {
    const int i = constant_int(items[0].value, "an index of a tuple");
    const std::vector<Operand>& members = groups_[object.group];
    if (node.items.count != 1 || i < 0 || i >= static_cast<int>(members.size())) {
      fail(node.span, {"index is out of range", std::to_string(i),
                       "0 to " + std::to_string(members.size() - 1)});
    }
    return members[static_cast<std::size_t>(i)];
  }
  if (node.items.count == 1 && expr(items[0].value).kind == ExprKind::slice && object.is_value()) {
    return slice_vector(object, expr(items[0].value), node.span);
  }
  const std::vector<ValueId> subscripts = indices(node);
  b().set_span(node.span);
  if (object.kind == Operand::Kind::array) return index_array(object, subscripts, node.span);
  if (object.is_value()) return index_value(object, subscripts, node.span);
  fail(node.span, {"this cannot be indexed", describe(object)});
}

Operand Checker::slice_vector(const Operand& object, const Expr& slice, Span span) {
  const Type type = module_.types[object.type];
  if (type.kind != TypeKind::vec || slice.c != kAbsent) {
    fail(span, {"slices are supported only for vectors, without a step", describe(object)});
  }
  const int first = slice.a == kAbsent ? 0 : constant_int(slice.a, "a slice's start");
  const int last = slice.b == kAbsent ? type.rows : constant_int(slice.b, "a slice's end");
  if (first < 0 || last > type.rows || first >= last) {
    fail(span, {"slice is out of range", std::to_string(first) + ":" + std::to_string(last),
                "inside 0:" + std::to_string(type.rows)});
  }
  std::vector<ValueId> parts;
  for (int i = first; i < last; ++i) parts.push_back(b().extract(object.id, i));
  const TypeId result = module_.types.vec(last - first, type.scalar);
  return Operand::value(b().emit(Op::make, result, parts), result);
}

Operand Checker::index_value(const Operand& object, const std::vector<ValueId>& subscripts,
                             Span span) {
  const Type type = module_.types[object.type];
  const bool matrix = type.kind == TypeKind::mat;
  if (!module_.types.is_composite(object.type))
    fail(span, {"this cannot be indexed", describe(object)});
  if (subscripts.size() > (matrix ? 2U : 1U)) {
    fail(span,
         {"wrong number of indices", std::to_string(subscripts.size()), matrix ? "1 or 2" : "1"});
  }
  std::vector<ValueId> operands{object.id};
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    ValueId index = subscripts[i];
    const std::int64_t size = i == 0 ? type.rows : type.cols;
    const Inst inst = b().inst(index);
    if (inst.op == Op::constant) {
      const std::int64_t position = inst.imm < 0 ? inst.imm + size : inst.imm;
      if (position < 0 || position >= size) {
        fail(span, {"index is out of range", std::to_string(inst.imm),
                    std::to_string(-size) + " to " + std::to_string(size - 1)});
      }
      if (position != inst.imm || inst.type != kI32) index = b().index(position);
    } else {
      index = b().cast(index, kI32);
    }
    operands.push_back(index);
  }
  const TypeId result = matrix && subscripts.size() == 1 ? module_.types.vec(type.cols, type.scalar)
                                                         : scalar_type(type.scalar);
  return Operand::value(b().emit(Op::extract, result, operands), result);
}

// A constant index below zero counts from the end.
ValueId Checker::from_end(const Operand& array, ValueId subscript, int dim) {
  const Inst inst = b().inst(subscript);
  if (inst.op != Op::constant || inst.imm >= 0) return subscript;
  const ValueId size = b().emit(Op::shape, kI32, {array.id}, dim + array.n_prefix);
  return b().binary(Op::sub, size, b().index(-inst.imm));
}

Operand Checker::index_array(const Operand& array, const std::vector<ValueId>& subscripts,
                             Span span) {
  const Type type = module_.types[array.type];
  if (subscripts.size() > type.ndim) {
    fail(span,
         {"wrong number of indices", std::to_string(subscripts.size()), std::to_string(type.ndim)});
  }
  Operand result = array;
  std::vector<ValueId> operands{array.id};
  operands.insert(operands.end(), array.prefix.begin(), array.prefix.begin() + array.n_prefix);
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    operands.push_back(from_end(array, subscripts[i], static_cast<int>(i)));
  }
  if (subscripts.size() == type.ndim) {
    return Operand::value(b().emit(Op::load, type.element, operands), type.element);
  }
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    result.prefix[result.n_prefix++] = operands[1U + array.n_prefix + i];
  }
  result.type = module_.types.array(type.element, type.ndim - static_cast<int>(subscripts.size()));
  return result;
}

ValueId Checker::truth(const Operand& operand, Span span) {
  if (operand.type == kBool) return operand.id;
  if (!module_.types.is_scalar(operand.type)) {
    fail(span, {"a condition must be a scalar", describe(operand), "bool"});
  }
  const ValueId zero = b().zero(operand.type);
  return b().compare(Op::ne, operand.id, zero);
}

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
