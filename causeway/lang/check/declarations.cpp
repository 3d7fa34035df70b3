// Structs, constants, functions and kernels of a text.
#include "causeway/lang/check/checker.h"

#include "causeway/lang/parser.h"

#include <algorithm>

namespace causeway::lang {

namespace {

constexpr int kMaxCallDepth = 64;

}  // namespace

Checker::Checker(std::shared_ptr<const Source> source, const CompileOptions& options)
    : options_(options), source_(std::move(source)), builder_(module_, nothing_) {
  module_.source = source_;
}

Module Checker::run() {
  tree_ = parse(*source_);
  Frame top;
  top.tree = &tree_;
  top.source = source_.get();
  top.function.blocks.emplace_back();
  frame_ = &top;
  builder_ = Builder(module_, top.function);
  declare_constants();
  declare_structs();
  lower_kernels();
  return std::move(module_);
}

void Checker::fail(Span span, const Diagnostic& diagnostic) const {
  throw CompileError(*frame_->source, span, diagnostic);
}

// Type aliases first, since structs may use them; values are evaluated at each use.
void Checker::declare_constants() {
  for (const ConstantNode& node : tree_.constants) {
    TypeId type = kNone;
    const ExprKind kind = expr(node.value).kind;
    const bool may_be_type = kind == ExprKind::call || kind == ExprKind::attribute ||
                             kind == ExprKind::name || kind == ExprKind::subscript;
    if (may_be_type && try_type(node.value, type)) aliases_.emplace_back(node.name, type);
  }
}

void Checker::declare_structs() {
  for (const StructNode& node : tree_.structs) {
    const auto same = [&](const StructNode& other) { return other.name == node.name; };
    if (&*std::find_if(tree_.structs.begin(), tree_.structs.end(), same) != &node) {
      fail(node.span, {"struct \"" + std::string(node.name) + "\" is defined twice"});
    }
    std::vector<Field> fields;
    for (const Parameter& field : node.fields) {
      for (const Field& earlier : fields) {
        if (earlier.name == field.name) {
          fail(field.span, {"field \"" + std::string(field.name) + "\" is declared twice"});
        }
      }
      fields.push_back({field.name, resolve_type(field.annotation)});
    }
    const TypeId type = module_.types.add_struct(node.name, std::move(fields));
    aliases_.emplace_back(node.name, type);
  }
}

void Checker::lower_kernels() {
  for (const FunctionNode& node : tree_.functions) {
    if (node.kind != FunctionKind::kernel) continue;
    const auto same = [&](const FunctionNode& other) {
      return &other != &node && other.name == node.name && other.kind == FunctionKind::kernel;
    };
    if (std::any_of(tree_.functions.begin(), tree_.functions.end(), same)) {
      fail(node.span, {"kernel \"" + std::string(node.name) + "\" is defined twice"});
    }
    std::vector<TypeId> types;
    for (const Parameter& parameter : node.parameters) {
      if (parameter.annotation == kAbsent) {
        fail(parameter.span, {"parameter \"" + std::string(parameter.name) + "\" of kernel \"" +
                                  std::string(node.name) + "\" has no type annotation",
                              "", "", "write " + std::string(parameter.name) + ": float"});
      }
      types.push_back(resolve_type(parameter.annotation));
    }
    lower_function(tree_, *source_, node, types, nullptr);
  }
  // Functions that no kernel calls are checked as well.
  for (const FunctionNode& node : tree_.functions) {
    if (node.kind != FunctionKind::function) continue;
    std::vector<TypeId> types;
    bool concrete = true;
    for (const Parameter& parameter : node.parameters) {
      TypeId type = kNone;
      concrete =
          concrete && parameter.annotation != kAbsent && try_type(parameter.annotation, type);
      types.push_back(type);
    }
    if (concrete) instantiate(tree_, *source_, node, types, nullptr, node.span);
  }
}

int Checker::instantiate(const Tree& tree, const Source& source, const FunctionNode& node,
                         const std::vector<TypeId>& types, const PatternBindings* patterns,
                         Span span) {
  for (const Instance& instance : instances_) {
    if (instance.node != &node || instance.types != types) continue;
    if (instance.function < 0) {
      fail(span, {"recursion is not supported: \"" + std::string(node.name) +
                      "\" calls itself, directly or through other functions",
                  "", "", "write a loop"});
    }
    return instance.function;
  }
  if (depth_ >= kMaxCallDepth) fail(span, {"calls are nested too deeply"});
  const std::size_t at = instances_.size();
  instances_.push_back({&node, types, -1});
  const int index = lower_function(tree, source, node, types, patterns);
  instances_[at].function = index;
  return index;
}

// A struct that holds arrays is passed member by member.
Operand Checker::add_parameter(std::string_view name, TypeId type, std::uint32_t argument) {
  if (module_.types.is(type, TypeKind::structure) && module_.types.has_array(type)) {
    std::vector<Operand> members;
    const std::vector<Field> fields = module_.types.structure(type).fields;
    for (const Field& field : fields) {
      const std::string path = std::string(name) + "." + std::string(field.name);
      members.push_back(add_parameter(module_.keep(path), field.type, argument));
    }
    return group_of(Operand::Kind::group, type, std::move(members));
  }
  const ValueId id = b().param({name, type, ParamRole::argument, argument, ArrayContent::before});
  Operand operand = Operand::value(id, type);
  if (module_.types.is(type, TypeKind::array)) operand.kind = Operand::Kind::array;
  return operand;
}

void Checker::bind_parameters(const std::vector<TypeId>& types) {
  const FunctionNode& node = *frame_->node;
  std::vector<Operand> operands;
  operands.reserve(types.size());
  frame_->function.params.reserve(types.size());
  frame_->bindings.reserve(types.size() + 8);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Parameter& parameter = node.parameters[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (node.parameters[j].name == parameter.name) {
        fail(parameter.span,
             {"parameter \"" + std::string(parameter.name) + "\" is declared twice"});
      }
    }
    b().set_span(parameter.span);
    operands.push_back(add_parameter(parameter.name, types[i], static_cast<std::uint32_t>(i)));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    Binding binding;
    binding.name = node.parameters[i].name;
    binding.operand = operands[i];
    const NameUse* use = use_of(binding.name);
    if (use != nullptr && use->variable && operands[i].is_value()) {
      const ValueId var = b().var(types[i], binding.name);
      b().set(var, operands[i].id);
      binding.operand = Operand::value(var, types[i]);
      binding.variable = true;
    }
    frame_->bindings.push_back(binding);
  }
}

namespace {

// Removes what follows a break, continue or return in its block, after it was type-checked.
void drop_unreachable(Function& function) {
  for (Block& block : function.blocks) {
    const auto exit = std::find_if(block.insts.begin(), block.insts.end(), [&](ValueId id) {
      const Op op = function[id].op;
      return op == Op::leave || op == Op::proceed || op == Op::give;
    });
    if (exit != block.insts.end()) block.insts.erase(exit + 1, block.insts.end());
  }
}

}  // namespace

int Checker::lower_function(const Tree& tree, const Source& source, const FunctionNode& node,
                            const std::vector<TypeId>& types, const PatternBindings* patterns) {
  const NameUses uses(tree, node);
  Frame frame;
  frame.tree = &tree;
  frame.source = &source;
  frame.node = &node;
  frame.uses = &uses;
  frame.patterns = patterns;
  frame.prelude = &tree != &tree_;
  frame.function.name = node.name;
  frame.function.kind = node.kind;
  frame.function.helper = frame.prelude;
  frame.function.span = node.span;
  frame.function.blocks.emplace_back().insts.reserve(64);
  frame.function.insts.reserve(64);
  frame.function.operands.reserve(96);
  Frame* const outer = frame_;
  const Builder outer_builder = builder_;
  frame_ = &frame;
  builder_ = Builder(module_, frame.function);
  ++depth_;
  bind_parameters(types);
  if (node.kind == FunctionKind::kernel && node.returns != kAbsent &&
      expr(node.returns).kind != ExprKind::none) {
    fail(expr(node.returns).span,
         {"a kernel cannot return a value", "", "None", "write results to an array argument"});
  }
  frame.open_blocks.push_back(frame.next_block++);
  frame.ir_blocks.push_back(0);
  block(node.body);
  drop_unreachable(frame.function);
  if (node.kind == FunctionKind::kernel) frame.function.dims = std::max(frame.tid_dims, 1);
  --depth_;
  frame_ = outer;
  builder_ = outer_builder;
  module_.functions.push_back(std::move(frame.function));
  return static_cast<int>(module_.functions.size() - 1);
}

Operand Checker::group_of(Operand::Kind kind, TypeId type, std::vector<Operand> members) {
  Operand operand;
  operand.kind = kind;
  operand.type = type;
  operand.group = static_cast<std::uint32_t>(groups_.size());
  groups_.push_back(std::move(members));
  return operand;
}

Checker::Binding* Checker::find_binding(std::string_view name) {
  for (std::size_t i = frame_->bindings.size(); i-- > 0;) {
    if (frame_->bindings[i].name == name) return &frame_->bindings[i];
  }
  return nullptr;
}

const NameUse* Checker::use_of(std::string_view name) const {
  return frame_->uses != nullptr ? frame_->uses->find(name) : nullptr;
}

// A variable, declared in the innermost open block that holds all its uses.
ValueId Checker::declare(std::string_view name, TypeId type, Span span) {
  const NameUse* use = use_of(name);
  std::size_t at = 0;
  for (std::size_t i = 0; i < frame_->open_blocks.size(); ++i) {
    if (use != nullptr && frame_->open_blocks[i] == use->block) at = i;
  }
  const BlockId here = b().block();
  b().set_block(at + 1 == frame_->ir_blocks.size() ? here : frame_->ir_blocks[at]);
  b().set_span(span);
  const ValueId var = b().var(type, name);
  b().set_block(here);
  return var;
}

std::vector<std::string_view> Checker::visible_names() {
  std::vector<std::string_view> names;
  for (const Binding& binding : frame_->bindings) names.push_back(binding.name);
  for (const FunctionNode& node : tree_.functions) {
    if (node.kind == FunctionKind::function) names.push_back(node.name);
  }
  for (const ConstantNode& node : tree_.constants) names.push_back(node.name);
  for (const StructNode& node : tree_.structs) names.push_back(node.name);
  for (const auto& [name, constant] : options_.constants) names.push_back(name);
  return names;
}

void Checker::fail_unknown(std::string_view name, Span span) {
  const std::string_view near = nearest_name(name, visible_names());
  std::string hint;
  if (!near.empty()) {
    hint = "did you mean \"" + std::string(near) + "\"?";
  } else if (find_builtin(name) != nullptr) {
    hint = "did you mean \"wp." + std::string(name) + "\"?";
  }
  fail(span, {"unknown name \"" + std::string(name) + "\"", "", "", hint});
}

}  // namespace causeway::lang
