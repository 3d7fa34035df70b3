// Calls of user functions, of the prelude and of primitive builtins.
#include "causeway/lang/check/checker.h"

#include "causeway/core/shown.h"

#include <algorithm>

namespace causeway::lang {

void Checker::fail_overload(Span span, std::string_view name, const std::vector<Operand>& arguments,
                            const std::vector<std::string>& candidates) {
  std::string found;
  for (const Operand& argument : arguments)
    found += (found.empty() ? "" : ", ") + describe(argument);
  std::string expected;
  for (const std::string& candidate : candidates) {
    if (!expected.empty()) expected += " or ";
    expected += candidate;
  }
  fail(span, {"no overload of \"" + std::string(name) + "\" takes these arguments",
              std::string(name) + "(" + found + ")", expected});
}

std::vector<Operand> Checker::arguments(const Expr& node) {
  std::vector<Operand> result;
  result.reserve(node.items.count);
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    result.push_back(expression(frame_->tree->begin(node.items)[i].value));
  }
  return result;
}

void Checker::check_arity(const Expr& node, std::size_t least, std::size_t most,
                          std::string_view name) {
  const std::size_t count = node.items.count;
  if (count >= least && count <= most) return;
  std::string expected = std::to_string(least);
  if (most != least) expected += " to " + std::to_string(most);
  fail(node.span, {"wrong number of arguments for \"" + std::string(name) + "\"",
                   std::to_string(count), expected});
}

std::vector<ExprId> Checker::ordered(const Expr& node,
                                     std::initializer_list<std::string_view> names,
                                     std::size_t required, std::string_view callee) {
  std::vector<ExprId> result(names.size(), kAbsent);
  std::size_t position = 0;
  const Item* items = frame_->tree->begin(node.items);
  for (std::uint32_t i = 0; i < node.items.count; ++i) {
    std::size_t at = position++;
    if (!items[i].keyword.empty()) {
      at = static_cast<std::size_t>(std::find(names.begin(), names.end(), items[i].keyword) -
                                    names.begin());
    }
    if (at >= names.size() || result[at] != kAbsent) {
      fail(expr(items[i].value).span,
           {"unexpected argument of \"" + std::string(callee) + "\"", shown(items[i].keyword)});
    }
    result[at] = items[i].value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (result[i] == kAbsent) {
      fail(node.span, {"wrong number of arguments for \"" + std::string(callee) + "\"",
                       std::to_string(node.items.count), "at least " + std::to_string(required)});
    }
  }
  return result;
}

bool Checker::is_user_function(std::string_view name) const {
  return std::any_of(tree_.functions.begin(), tree_.functions.end(),
                     [&](const FunctionNode& node) { return node.name == name; });
}

Operand Checker::call(const Expr& node) {
  const Expr& callee = expr(node.a);
  bool is_module = false;
  const std::string_view name = callee_name(callee, is_module);
  TypeId type = kNone;
  if (name.empty() && try_type(node.a, type)) return call_type_object(type, node);
  if (name.empty()) {
    fail(callee.span, {"this cannot be called", shown(frame_->source->text(callee.span)),
                       "a function, a builtin such as wp.sin, or a type"});
  }
  if (!is_module && find_binding(name) != nullptr) {
    fail(callee.span, {"\"" + std::string(name) + "\" is not a function",
                       describe(find_binding(name)->operand)});
  }
  if (!is_module && !frame_->prelude && is_user_function(name)) return call_user(name, node);
  if (frame_->prelude) {
    bool found = false;
    const Operand result = prelude_form(name, node, found);
    if (found) return result;
  }
  if (try_type(node.a, type)) return call_type_object(type, node);
  const Builtin* builtin = find_builtin(name);
  static constexpr std::string_view kPython[] = {"abs", "min",   "max",  "round",
                                                 "len", "print", "range"};
  const bool imported =
      std::any_of(tree_.imported.begin(), tree_.imported.end(),
                  [&](std::string_view text) { return text == "*" || text == name; });
  const bool visible = is_module || frame_->prelude || imported ||
                       std::find(std::begin(kPython), std::end(kPython), name) != std::end(kPython);
  if (builtin != nullptr && visible) return call_builtin(*builtin, node);
  if (frame_->prelude && !prelude_functions(name).empty())
    return call_prelude(name, arguments(node), node.span);
  if (name.starts_with("array")) {
    fail(node.span,
         {"arrays cannot be created in a kernel", "", "", "pass the array as an argument"});
  }
  if (!is_module) fail_unknown(name, callee.span);
  std::vector<std::string_view> names;
  for (const Builtin& candidate : builtins()) names.push_back(candidate.name);
  const std::string_view near = nearest_name(name, names);
  fail(callee.span, {"unknown builtin \"" + std::string(frame_->source->text(callee.span)) + "\"",
                     "", "", near.empty() ? "" : "did you mean \"wp." + std::string(near) + "\"?"});
}

Operand Checker::call_user(std::string_view name, const Expr& node) {
  std::vector<Operand> given = arguments(node);
  const Item* items = frame_->tree->begin(node.items);
  std::vector<std::string> candidates;
  std::size_t arities = 0;
  std::size_t arity = 0;
  const auto& functions = tree_.functions;
  for (const FunctionNode& function : functions) {
    if (function.name != name) continue;
    if (function.kind == FunctionKind::kernel) {
      fail(node.span, {"a kernel cannot be called from a kernel: \"" + std::string(name) + "\"", "",
                       "", "declare it with @wp.func"});
    }
    const std::size_t n = function.parameters.size();
    std::vector<Operand> operands(n);
    std::vector<TypeId> types(n);
    bool fits = given.size() <= n;
    for (std::size_t i = 0; i < given.size() && fits; ++i) {
      std::size_t at = i;
      if (!items[i].keyword.empty()) {
        for (at = 0; at < n && function.parameters[at].name != items[i].keyword; ++at) {
        }
      }
      fits = at < n && operands[at].kind == Operand::Kind::none;
      if (fits) operands[at] = given[i];
    }
    std::string signature = std::string(name) + "(";
    for (std::size_t i = 0; i < n; ++i) {
      const Parameter& parameter = function.parameters[i];
      if (parameter.annotation == kAbsent) {
        fail(parameter.span, {"parameter \"" + std::string(parameter.name) + "\" of function \"" +
                                  std::string(name) + "\" has no type annotation",
                              "", "", "write " + std::string(parameter.name) + ": float"});
      }
      if (operands[i].kind == Operand::Kind::none && parameter.fallback != kAbsent) {
        operands[i] = expression(parameter.fallback);
      }
      const std::string_view text = expr(parameter.annotation).text;
      const bool generic = text == "Any";
      types[i] = generic ? operands[i].type : resolve_type(parameter.annotation);
      fits = fits && operands[i].kind != Operand::Kind::none &&
             operands[i].kind != Operand::Kind::type && operands[i].type == types[i];
      signature += (i > 0 ? ", " : "") + (generic ? "Any" : this->name(types[i]));
    }
    candidates.push_back(signature + ")");
    ++arities;
    arity = n;
    if (!fits) continue;
    const int index = instantiate(tree_, *source_, function, types, nullptr, node.span);
    return emit_call(index, operands, node.span);
  }
  if (arities == 1 && given.size() != arity) {
    fail(node.span, {"wrong number of arguments for \"" + std::string(name) + "\"",
                     std::to_string(given.size()), std::to_string(arity)});
  }
  fail_overload(node.span, name, given, candidates);
}

void Checker::flatten(const Operand& operand, std::vector<ValueId>& out) {
  if (operand.kind == Operand::Kind::group) {
    const std::vector<Operand> members = groups_[operand.group];
    for (const Operand& member : members) flatten(member, out);
    return;
  }
  if (operand.kind == Operand::Kind::array && operand.n_prefix > 0) {
    std::vector<ValueId> operands{operand.id};
    operands.insert(operands.end(), operand.prefix.begin(),
                    operand.prefix.begin() + operand.n_prefix);
    out.push_back(b().emit(Op::view, operand.type, operands));
    return;
  }
  out.push_back(operand.id);
}

Operand Checker::emit_call(int index, const std::vector<Operand>& operands, Span span) {
  std::vector<ValueId> values;
  values.reserve(operands.size());
  for (const Operand& operand : operands) flatten(operand, values);
  const Function& callee = module_.functions[static_cast<std::size_t>(index)];
  const TypeId type = callee.result;
  frame_->function.effects = frame_->function.effects || callee.effects;
  b().set_span(span);
  const ValueId id = b().emit(Op::call, type, values, index);
  if (!module_.types.is(type, TypeKind::tuple)) return Operand::value(id, type);
  std::vector<Operand> members;
  const std::vector<TypeId> types = module_.types.members(type);
  for (std::size_t i = 0; i < types.size(); ++i) {
    members.push_back(Operand::value(
        b().emit(Op::result, types[i], {id}, static_cast<std::int64_t>(i)), types[i]));
  }
  return group_of(Operand::Kind::tuple, kNone, std::move(members));
}

// The first overload whose patterns fit.
Operand Checker::call_prelude(std::string_view name, std::vector<Operand> given, Span span) {
  const bool weak = frame_->prelude;
  Frame* const outer = frame_;
  Frame patterns_frame;
  patterns_frame.tree = &prelude_tree();
  patterns_frame.source = &prelude_source();
  patterns_frame.prelude = true;
  PatternBindings bindings;
  std::vector<Operand> operands;
  for (const FunctionNode* function : prelude_functions(name)) {
    if (function->parameters.size() != given.size()) continue;
    bindings.clear();
    operands = given;
    bool fits = true;
    frame_ = &patterns_frame;
    // Literals of the prelude adapt to other types, so non-literals are matched first.
    for (int pass = 0; pass < 2 && fits; ++pass) {
      for (std::size_t i = 0; i < given.size() && fits; ++i) {
        const bool literal = weak && given[i].literal;
        if (literal != (pass == 1)) continue;
        const ExprId annotation = function->parameters[i].annotation;
        if (literal && !match(annotation, given[i].type, bindings)) {
          TypeId wanted = kNone;
          for (const PatternBinding& binding : bindings) {
            if (binding.name == expr(annotation).text) wanted = binding.type;
          }
          if (wanted == kNone) named_type(expr(annotation).text, wanted);
          fits = wanted != kNone && module_.types.is_scalar(wanted);
          if (fits) {
            operands[i].id = b().cast(given[i].id, wanted);
            operands[i].type = wanted;
          }
        } else if (!literal) {
          fits = (given[i].is_value() || given[i].kind == Operand::Kind::array) &&
                 match(annotation, given[i].type, bindings);
        }
      }
    }
    frame_ = outer;
    if (!fits) continue;
    std::vector<TypeId> types;
    for (const Operand& operand : operands) types.push_back(operand.type);
    const int index =
        instantiate(prelude_tree(), prelude_source(), *function, types, &bindings, span);
    if (name == "mul") module_.functions[static_cast<std::size_t>(index)].symbol = "*";
    return emit_call(index, operands, span);
  }
  std::vector<std::string> candidates;
  for (const FunctionNode* function : prelude_functions(name)) {
    std::string text = std::string(name) + "(";
    for (std::size_t i = 0; i < function->parameters.size(); ++i) {
      const Expr& annotation = prelude_tree().exprs[function->parameters[i].annotation];
      text += (i > 0 ? ", " : "") + std::string(prelude_source().text(annotation.span));
    }
    candidates.push_back(text + ")");
  }
  fail_overload(span, name, given, candidates);
}

Operand Checker::call_builtin(const Builtin& builtin, const Expr& node) {
  switch (builtin.form) {
    case BuiltinForm::special: return call_special(builtin, node);
    case BuiltinForm::atomic: return call_atomic(builtin, node);
    case BuiltinForm::prelude: break;
    default: return call_primitive(builtin, arguments(node), node.span);
  }
  std::vector<Operand> given = arguments(node);
  const Item* items = frame_->tree->begin(node.items);
  const auto named = std::find_if(items, items + node.items.count,
                                  [](const Item& item) { return !item.keyword.empty(); });
  if (named != items + node.items.count) {
    for (const FunctionNode* function : prelude_functions(builtin.name)) {
      if (function->parameters.size() != given.size()) continue;
      std::vector<Operand> sorted = given;
      for (std::uint32_t i = 0; i < node.items.count; ++i) {
        if (items[i].keyword.empty()) continue;
        std::size_t at = 0;
        while (at < given.size() && function->parameters[at].name != items[i].keyword) ++at;
        if (at == given.size()) {
          fail(expr(items[i].value).span,
               {"unexpected argument of \"" + std::string(builtin.name) + "\"",
                shown(items[i].keyword)});
        }
        sorted[at] = given[i];
      }
      given = sorted;
      break;
    }
  }
  if (!builtin.updates_state) return call_prelude(builtin.name, std::move(given), node.span);
  const bool is_name = node.items.count > 0 && expr(items[0].value).kind == ExprKind::name;
  if (!is_name || given[0].type != kU32) {
    fail(node.span, {"the first argument of \"" + std::string(builtin.name) +
                         "\" must be a variable that holds a random state",
                     given.empty() ? "" : describe(given[0]), "a name bound to wp.rand_init(…)"});
  }
  const Operand result = call_prelude(builtin.name, std::move(given), node.span);
  const std::vector<Operand> members = groups_[result.group];
  assign_name(expr(items[0].value).text, members.back(), node.span);
  return members[0];
}

Operand Checker::call_primitive(const Builtin& builtin, std::vector<Operand> given, Span span) {
  const TypeTable& types = module_.types;
  const bool two =
      builtin.form == BuiltinForm::float_binary || builtin.form == BuiltinForm::number_binary;
  if (two && given.size() == 2 && frame_->prelude) adapt_literals(given[0], given[1]);
  bool fits = given.size() == (two ? 2U : 1U);
  for (const Operand& operand : given) {
    fits = fits && operand.is_value() && types.is_scalar(operand.type) &&
           operand.type == given[0].type;
    if (!fits) break;
    const Scalar scalar = types[operand.type].scalar;
    const bool numbers = builtin.form == BuiltinForm::number_unary ||
                         builtin.form == BuiltinForm::number_binary ||
                         builtin.form == BuiltinForm::block;
    fits = builtin.form == BuiltinForm::int_unary ? is_int(scalar)
           : numbers                              ? scalar != Scalar::boolean
                                                  : is_float(scalar);
  }
  if (!fits) {
    if (!prelude_functions(builtin.name).empty())
      return call_prelude(builtin.name, std::move(given), span);
    if (given.size() != (two ? 2U : 1U)) {
      fail(span, {"wrong number of arguments for \"" + std::string(builtin.name) + "\"",
                  std::to_string(given.size()), two ? "2" : "1"});
    }
    fail_overload(span, builtin.name, given, {std::string(builtin.signature)});
  }
  b().set_span(span);
  if (builtin.form == BuiltinForm::block && frame_->function.kind != FunctionKind::kernel) {
    fail(span, {"\"" + std::string(builtin.name) + "\" can be used only in a kernel"});
  }
  const TypeId result = builtin.form == BuiltinForm::float_test ? kBool
                        : builtin.op == Op::bit_count           ? kI32
                                                                : given[0].type;
  if (two) return Operand::value(b().emit(builtin.op, result, {given[0].id, given[1].id}), result);
  return Operand::value(b().emit(builtin.op, result, {given[0].id}), result);
}

Operand Checker::call_atomic(const Builtin& builtin, const Expr& node) {
  const std::size_t extra = builtin.op == Op::atomic_cas ? 2 : 1;
  if (node.items.count < 2 + extra) check_arity(node, 2 + extra, 5 + extra, builtin.name);
  const Item* items = frame_->tree->begin(node.items);
  const Operand array = expression(items[0].value);
  if (array.kind != Operand::Kind::array) {
    fail(expr(items[0].value).span,
         {"the first argument of \"" + std::string(builtin.name) + "\" must be an array",
          describe(array)});
  }
  const Type type = module_.types[array.type];
  const std::size_t n_indices = node.items.count - 1 - extra;
  if (n_indices != type.ndim) {
    fail(node.span, {"wrong number of indices for \"" + std::string(builtin.name) + "\"",
                     std::to_string(n_indices), std::to_string(type.ndim)});
  }
  if (!takes_atomic(builtin.op, type.element)) {
    fail(node.span, {"\"" + std::string(builtin.name) + "\" does not take an array of this dtype",
                     name(type.element)});
  }
  std::vector<ValueId> operands{array.id};
  operands.insert(operands.end(), array.prefix.begin(), array.prefix.begin() + array.n_prefix);
  for (std::size_t i = 0; i < n_indices; ++i) {
    const Operand index = value(items[1 + i].value);
    if (!module_.types.is_int_scalar(index.type)) {
      fail(expr(items[1 + i].value).span,
           {"an index must be an integer", describe(index), "an integer", "convert with int()"});
    }
    operands.push_back(index.id);
  }
  for (std::size_t i = 0; i < extra; ++i) {
    const ExprId id = items[1 + n_indices + i].value;
    const Operand operand = value(id);
    check_same(operand.type, type.element, expr(id).span, "value does not match the array's dtype");
    operands.push_back(operand.id);
  }
  b().set_span(node.span);
  frame_->function.effects = true;
  return Operand::value(b().emit(builtin.op, type.element, operands), type.element);
}

}  // namespace causeway::lang
