// Assignment to names, components, array elements and tuples.
#include "causeway/lang/check/checker.h"

namespace causeway::lang {

namespace {

constexpr std::string_view kSuggestCopy =
    "start from a value that is not a literal: x = float(0.0), i = int(0), b = bool(False)";

bool is_accessor(ExprKind kind) {
  return kind == ExprKind::subscript || kind == ExprKind::attribute;
}

}  // namespace

void Checker::check_same(TypeId found, TypeId expected, Span span, std::string_view what) {
  if (found == expected) return;
  std::string hint;
  if (module_.types.is_scalar(found) && module_.types.is_scalar(expected)) {
    hint = "convert with " + name(expected) + "(…)";
  }
  fail(span, {std::string(what), name(found), name(expected), hint});
}

void Checker::assign(const Stmt& stmt) {
  const Expr& target = expr(stmt.target);
  Operand result = expression(stmt.value);
  if (stmt.annotation != kAbsent) {
    const TypeId declared = resolve_type(stmt.annotation);
    check_same(result.type, declared, stmt.span, "value does not match the annotation");
    result.literal = false;  // the type is explicit, so the name may change
  }
  b().set_span(stmt.span);
  if (target.kind == ExprKind::tuple || target.kind == ExprKind::list) {
    assign_tuple(target, result, stmt.span);
  } else {
    assign_to(stmt.target, result, stmt.span);
  }
}

void Checker::assign_tuple(const Expr& target, const Operand& result, Span span) {
  const Item* items = frame_->tree->begin(target.items);
  std::vector<Operand> members;
  if (result.kind == Operand::Kind::tuple) {
    members = groups_[result.group];
  } else if (result.is_value() && module_.types.is_composite(result.type) &&
             !module_.types.is(result.type, TypeKind::mat)) {
    for (int i = 0; i < module_.types[result.type].rows; ++i) {
      members.push_back(Operand::value(b().extract(result.id, i),
                                       scalar_type(module_.types[result.type].scalar)));
    }
  } else {
    fail(span, {"only several values can be unpacked", describe(result)});
  }
  if (members.size() != target.items.count) {
    fail(span, {"wrong number of values to unpack", std::to_string(members.size()) + " values",
                std::to_string(target.items.count) + " names"});
  }
  // Reads precede writes, so that a, b = b, a swaps.
  for (std::uint32_t i = 0; i < target.items.count; ++i)
    assign_to(items[i].value, members[i], span);
}

void Checker::assign_to(ExprId target, Operand result, Span span) {
  const Expr& node = expr(target);
  if (node.kind == ExprKind::name) return assign_name(node.text, result, span);
  if (is_accessor(node.kind)) return assign_component(target, result, span);
  fail(node.span, {"cannot assign to this expression"});
}

void Checker::assign_name(std::string_view name, Operand result, Span span) {
  if (result.kind == Operand::Kind::none) {
    fail(span, {"the right-hand side has no value"});
  }
  if (result.kind == Operand::Kind::tuple) {
    fail(span, {
                   "several values are assigned to one name",
                   describe(result),
                   "one value",
                   "",
               });
  }
  Binding* const known = find_binding(name);
  if (known != nullptr && known->operand.type != result.type) {
    fail(span, {"name \"" + std::string(name) + "\" cannot change its type",
                this->name(result.type), this->name(known->operand.type), "use another name"});
  }
  const NameUse* use = use_of(name);
  const bool variable = use != nullptr && use->variable && result.is_value();
  if (known != nullptr && known->constant && known->loop_depth < frame_->dynamic_loops) {
    fail(span, {"name \"" + std::string(name) +
                    "\" is bound to a constant and cannot change inside a dynamic loop",
                "", "", std::string(kSuggestCopy)});
  }
  if (known != nullptr && known->variable) {
    b().set(known->operand.id, result.id);
    known->constant = result.literal && known->loop_depth >= frame_->dynamic_loops &&
                      frame_->open_blocks.size() == 1;
    return;
  }
  Binding binding;
  binding.name = name;
  binding.operand = result;
  binding.operand.literal = false;
  binding.constant = result.literal;
  binding.loop_depth = frame_->dynamic_loops;
  if (variable) {
    const ValueId var = declare(name, result.type, span);
    b().set_span(span);
    b().set(var, result.id);
    binding.operand = Operand::value(var, result.type);
    binding.variable = true;
  } else if (result.is_value()) {
    Inst& inst = frame_->function[result.id];
    const bool fresh = inst.name.empty() && inst.op != Op::param;
    if (fresh) inst.name = name;
    binding.operand.literal = result.literal;
  }
  if (known != nullptr) {
    *known = binding;
  } else {
    frame_->bindings.push_back(binding);
  }
}

// target is x.a, x[i], x[i].a[j] …; x a name of a local value or an array.
void Checker::assign_component(ExprId target, const Operand& result, Span span) {
  std::vector<ExprId> path;
  ExprId root = target;
  while (is_accessor(expr(root).kind)) {
    path.insert(path.begin(), root);
    root = expr(root).a;
  }
  if (expr(root).kind != ExprKind::name)
    fail(expr(root).span, {"cannot assign to this expression"});
  Binding* const binding = find_binding(expr(root).text);
  if (binding == nullptr) fail_unknown(expr(root).text, expr(root).span);
  Operand object = binding->operand;
  std::size_t at = 0;
  // Members and indices up to the element of an array.
  while (at < path.size() &&
         (object.kind == Operand::Kind::array || object.kind == Operand::Kind::group)) {
    const Expr& node = expr(path[at]);
    if (object.kind == Operand::Kind::group) {
      if (node.kind != ExprKind::attribute) fail(node.span, {"a struct has no elements"});
      object = attribute_of(object, node.text, node.span);
      ++at;
      continue;
    }
    if (node.kind != ExprKind::subscript)
      fail(node.span, {"attributes of arrays cannot be assigned"});
    const std::vector<ValueId> subscripts = indices(node);
    ++at;
    if (subscripts.size() < module_.types[object.type].ndim) {
      object = index_array(object, subscripts, node.span);
      continue;
    }
    if (at == path.size()) return store(object, subscripts, result, span);
    const Operand old = index_array(object, subscripts, node.span);
    const Operand changed = insert_path(old, path, at, result, span);
    return store(object, subscripts, changed, span);
  }
  if (at == path.size()) fail(span, {"cannot assign to an array"});
  if (!binding->variable) {
    fail(expr(root).span,
         {"components of \"" + std::string(expr(root).text) + "\" cannot be assigned",
          describe(object), "a local vector, matrix, quaternion or struct"});
  }
  const Operand whole = Operand::value(b().get(binding->operand.id), binding->operand.type);
  const Operand changed = insert_path(whole, path, 0, result, span);
  b().set_span(span);
  b().set(binding->operand.id, changed.id);
  binding->constant = false;
}

// `whole` with the component at path[at…] replaced by `result`.
Operand Checker::insert_path(Operand whole, const std::vector<ExprId>& path, std::size_t at,
                             const Operand& result, Span span) {
  const Expr& node = expr(path[at]);
  const bool last = at + 1 == path.size();
  const TypeTable& types = module_.types;
  if (node.kind == ExprKind::attribute && types.is(whole.type, TypeKind::structure)) {
    const auto& fields = types.structure(whole.type).fields;
    for (std::uint32_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name != node.text) continue;
      const TypeId type = fields[i].type;
      Operand inner = result;
      if (!last)
        inner =
            insert_path(Operand::value(b().field(whole.id, i), type), path, at + 1, result, span);
      check_same(inner.type, type, span, "value does not match the field");
      return Operand::value(b().emit(Op::insert_field, whole.type, {whole.id, inner.id}, i),
                            whole.type);
    }
  }
  std::vector<ValueId> subscripts;
  TypeId part = kNone;
  if (node.kind == ExprKind::attribute) {
    const std::size_t component = std::string_view("xyzw").find(node.text);
    const bool fits =
        node.text.size() == 1 && component != std::string_view::npos &&
        (types.is(whole.type, TypeKind::vec) || types.is(whole.type, TypeKind::quat)) &&
        component < types[whole.type].rows;
    if (!fits) {
      fail(node.span, {"no such attribute", std::string(node.text), "",
                       name(whole.type) + " has no attribute \"" + std::string(node.text) + "\""});
    }
    subscripts = {b().index(static_cast<std::int64_t>(component))};
    part = scalar_type(types[whole.type].scalar);
  } else {
    subscripts = indices(node);
    part = index_value(whole, subscripts, node.span).type;
  }
  Operand inner = result;
  if (!last)
    inner = insert_path(index_value(whole, subscripts, node.span), path, at + 1, result, span);
  if (inner.literal && types.is_scalar(inner.type) && types.is_scalar(part) && frame_->prelude) {
    inner = Operand::value(b().cast(inner.id, part), part);
  }
  check_same(inner.type, part, span, "value does not match the component");
  std::vector<ValueId> operands{whole.id};
  operands.insert(operands.end(), subscripts.begin(), subscripts.end());
  operands.push_back(inner.id);
  b().set_span(span);
  return Operand::value(b().emit(Op::insert, whole.type, operands), whole.type);
}

void Checker::store(const Operand& array, const std::vector<ValueId>& subscripts,
                    const Operand& result, Span span) {
  const Type type = module_.types[array.type];
  if (subscripts.size() != type.ndim) {
    fail(span, {"wrong number of indices", std::to_string(subscripts.size() + array.n_prefix),
                std::to_string(type.ndim + array.n_prefix)});
  }
  if (!result.is_value()) fail(span, {"this cannot be stored in an array", describe(result)});
  Operand stored = result;
  if (frame_->prelude && result.literal)
    stored.id = b().cast(result.id, type.element), stored.type = type.element;
  check_same(stored.type, type.element, span, "value does not match the array's dtype");
  std::vector<ValueId> operands = element(array, subscripts);
  operands.push_back(stored.id);
  b().set_span(span);
  b().emit(Op::store, kNone, operands);
  frame_->function.effects = true;
}

bool Checker::takes_atomic(Op op, TypeId element) const {
  const TypeTable& types = module_.types;
  if (element == kBool) return false;
  if (op >= Op::atomic_and && op <= Op::atomic_xor) return types.is_int_scalar(element);
  const bool one_word = op == Op::atomic_cas || op == Op::atomic_exch;
  return types.is_scalar(element) || (!one_word && types.is_composite(element));
}

void Checker::augmented(const Stmt& stmt) {
  const Expr& target = expr(stmt.target);
  if (target.kind == ExprKind::tuple)
    fail(target.span, {"cannot assign to several values at once"});
  if (target.kind == ExprKind::subscript) {
    // On an element of an array, sums and bit operations are atomic, as in Warp.
    const Operand object = expression(target.a);
    static constexpr std::pair<std::string_view, Op> kAtomic[] = {{"+", Op::atomic_add},
                                                                  {"-", Op::atomic_sub},
                                                                  {"&", Op::atomic_and},
                                                                  {"|", Op::atomic_or},
                                                                  {"^", Op::atomic_xor}};
    if (object.kind == Operand::Kind::array &&
        target.items.count == module_.types[object.type].ndim) {
      const std::vector<ValueId> subscripts = indices(target);
      const TypeId dtype = module_.types[object.type].element;
      for (const auto& [text, op] : kAtomic) {
        if (text != stmt.text || !takes_atomic(op, dtype)) continue;
        const Operand result = value(stmt.value);
        check_same(result.type, dtype, stmt.span, "value does not match the array's dtype");
        std::vector<ValueId> operands = element(object, subscripts);
        operands.push_back(result.id);
        b().set_span(stmt.span);
        b().emit(op, dtype, operands);
        frame_->function.effects = true;
        return;
      }
      const Operand old = index_array(object, subscripts, target.span);
      const Operand result = binary(stmt.text, old, value(stmt.value), stmt.span);
      return store(object, subscripts, result, stmt.span);
    }
  }
  const Operand old = value(stmt.target);
  const Operand operand = value(stmt.value);
  Operand result = binary(stmt.text, old, operand, stmt.span);
  result.literal = false;
  b().set_span(stmt.span);
  assign_to(stmt.target, result, stmt.span);
}

}  // namespace causeway::lang
