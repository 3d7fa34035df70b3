// Control flow, return and assert.
#include "causeway/lang/check/checker.h"

#include "causeway/core/shown.h"

namespace causeway::lang {

// Enters the next block of the syntax tree; IR goes into a new block.
BlockId Checker::open_block(Range range, bool fill) {
  const BlockId outer = b().block();
  const BlockId inner = b().new_block();
  frame_->open_blocks.push_back(frame_->next_block++);
  frame_->ir_blocks.push_back(inner);
  b().set_block(inner);
  if (fill) {
    block(range);
    close_block(outer);
  }
  return inner;
}

void Checker::close_block(BlockId outer) {
  frame_->open_blocks.pop_back();
  frame_->ir_blocks.pop_back();
  b().set_block(outer);
}

void Checker::block(Range range) {
  for (std::uint32_t i = 0; i < range.count; ++i) {
    statement(frame_->tree->stmts[frame_->tree->blocks[range.first + i]]);
  }
}

void Checker::statement(const Stmt& stmt) {
  b().set_span(stmt.span);
  switch (stmt.kind) {
    case StmtKind::expression:
      if (expr(stmt.value).kind != ExprKind::string &&
          expr(stmt.value).kind != ExprKind::ellipsis) {
        expression(stmt.value);
      }
      return;
    case StmtKind::assign: return assign(stmt);
    case StmtKind::augmented: return augmented(stmt);
    case StmtKind::branch: return branch(stmt);
    case StmtKind::loop: return while_loop(stmt);
    case StmtKind::iterate: return for_loop(stmt);
    case StmtKind::leave:
    case StmtKind::proceed:
      if (frame_->loops == 0) {
        const std::string word = stmt.kind == StmtKind::leave ? "break" : "continue";
        fail(stmt.span, {"`" + word + "` outside a loop"});
      }
      b().emit(stmt.kind == StmtKind::leave ? Op::leave : Op::proceed, kNone, {});
      return;
    case StmtKind::give: return give(stmt);
    case StmtKind::check: return check(stmt);
    case StmtKind::pass: return;
  }
}

void Checker::branch(const Stmt& stmt) {
  const ValueId condition = truth(value(stmt.value), expr(stmt.value).span);
  if (frame_->prelude && b().inst(condition).op == Op::constant) {
    // A static branch on a type or length; the other branch is not type-checked.
    const bool taken = b().inst(condition).imm != 0;
    const std::uint32_t first = frame_->next_block++;
    const std::uint32_t second = frame_->next_block++;
    frame_->open_blocks.push_back(taken ? first : second);
    frame_->ir_blocks.push_back(b().block());
    block(taken ? stmt.body : stmt.orelse);
    frame_->open_blocks.pop_back();
    frame_->ir_blocks.pop_back();
    return;
  }
  const BlockId then_block = open_block(stmt.body);
  const BlockId else_block = open_block(stmt.orelse);
  b().set_span(stmt.span);
  b().emit(Op::branch, kNone, {condition}, 0, then_block, else_block);
}

void Checker::while_loop(const Stmt& stmt) {
  const BlockId outer = b().block();
  const BlockId header = b().new_block();
  b().set_block(header);
  ++frame_->loops;
  ++frame_->dynamic_loops;
  const ValueId condition = truth(value(stmt.value), expr(stmt.value).span);
  b().emit(Op::yield, kNone, {condition});
  b().set_block(outer);
  const BlockId body = open_block(stmt.body);
  --frame_->loops;
  --frame_->dynamic_loops;
  b().set_span(stmt.span);
  b().emit(Op::repeat, kNone, {}, 0, header, body);
}

namespace {

bool has_leave(const Tree& tree, Range range) {
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const Stmt& stmt = tree.stmts[tree.blocks[range.first + i]];
    if (stmt.kind == StmtKind::leave || stmt.kind == StmtKind::proceed) return true;
    if (stmt.kind == StmtKind::branch &&
        (has_leave(tree, stmt.body) || has_leave(tree, stmt.orelse))) {
      return true;
    }
  }
  return false;
}

}  // namespace

void Checker::for_loop(const Stmt& stmt) {
  const Expr& iterable = expr(stmt.value);
  const bool is_range = iterable.kind == ExprKind::call && expr(iterable.a).text == "range";
  if (!is_range) {
    fail(iterable.span,
         {"a for loop must run over range()", shown(frame_->source->text(iterable.span)),
          "range(stop), range(start, stop) or range(start, stop, step)"});
  }
  check_arity(iterable, 1, 3, "range");
  std::vector<Operand> bounds = arguments(iterable);
  const Item* items = frame_->tree->begin(iterable.items);
  bool constant = true;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!bounds[i].is_value() || bounds[i].type != kI32) {
      fail(expr(items[i].value).span,
           {"range() takes int32", describe(bounds[i]), "int32", "convert with int()"});
    }
    constant = constant && b().inst(bounds[i].id).op == Op::constant;
  }
  const ValueId one = bounds.size() < 3 ? b().index(1) : 0;
  const ValueId start = bounds.size() < 2 ? b().index(0) : bounds[0].id;
  const ValueId stop = bounds.size() < 2 ? bounds[0].id : bounds[1].id;
  const ValueId step = bounds.size() < 3 ? one : bounds[2].id;
  bool is_static = false;
  if (constant) {
    const std::int64_t first = b().inst(start).imm;
    const std::int64_t last = b().inst(stop).imm;
    const std::int64_t by = b().inst(step).imm;
    if (by == 0) fail(iterable.span, {"range() step must not be zero"});
    const std::int64_t distance = last > first ? last - first : first - last;
    is_static = distance / (by < 0 ? -by : by) <= options_.static_trips &&
                !has_leave(*frame_->tree, stmt.body);
    if (frame_->prelude) return unrolled_loop(stmt, first, last, by);
  }
  const ValueId operands[] = {start, stop, step};
  const ValueId loop = b().detached(Op::loop, kI32, operands);
  const std::string_view variable = expr(stmt.target).text;
  const BlockId outer = b().block();
  ++frame_->loops;
  if (!is_static) ++frame_->dynamic_loops;
  const BlockId body = open_block(stmt.body, false);
  frame_->function[loop].name = variable;
  assign_name(variable, Operand::value(loop, kI32), expr(stmt.target).span);
  block(stmt.body);
  close_block(outer);
  --frame_->loops;
  if (!is_static) --frame_->dynamic_loops;
  frame_->function[loop].blocks[0] = body;
  b().append(loop);
}

// Static loops of the prelude: the body is repeated with the variable as a constant.
void Checker::unrolled_loop(const Stmt& stmt, std::int64_t start, std::int64_t stop,
                            std::int64_t step) {
  const std::uint32_t first_block = frame_->next_block;
  const NameUse* use = use_of(expr(stmt.target).text);
  (void)use;
  std::uint32_t last_block = first_block;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    frame_->next_block = first_block;
    frame_->open_blocks.push_back(frame_->next_block++);
    frame_->ir_blocks.push_back(b().block());
    const std::size_t n_bindings = frame_->bindings.size();
    Binding binding;
    binding.name = expr(stmt.target).text;
    binding.operand = Operand::value(b().index(i), kI32, true);
    frame_->bindings.push_back(binding);
    block(stmt.body);
    frame_->bindings.resize(n_bindings);
    frame_->open_blocks.pop_back();
    frame_->ir_blocks.pop_back();
    last_block = frame_->next_block;
  }
  frame_->next_block = std::max(last_block, first_block + 1);
}

void Checker::give(const Stmt& stmt) {
  if (frame_->function.kind == FunctionKind::kernel) {
    if (stmt.value != kAbsent && expr(stmt.value).kind != ExprKind::none) {
      fail(stmt.span, {"a kernel cannot return a value", "", "return without a value",
                       "write results to an array argument"});
    }
    b().emit(Op::give, kNone, {});
    return;
  }
  std::vector<ValueId> values;
  std::vector<TypeId> types;
  if (stmt.value != kAbsent && expr(stmt.value).kind != ExprKind::none) {
    const Operand result = expression(stmt.value);
    const std::vector<Operand> members =
        result.kind == Operand::Kind::tuple ? groups_[result.group] : std::vector<Operand>{result};
    for (const Operand& member : members) {
      if (!member.is_value()) {
        fail(stmt.span, {"this cannot be returned", describe(member),
                         "a scalar, vector, matrix, "
                         "quaternion or struct without arrays"});
      }
      values.push_back(member.id);
      types.push_back(member.type);
    }
  }
  const TypeId type = types.empty()       ? kNone
                      : types.size() == 1 ? types[0]
                                          : module_.types.tuple(types);
  if (frame_->returned && frame_->function.result != type) {
    fail(stmt.span,
         {"function \"" + std::string(frame_->function.name) + "\" returns different types",
          name(type), name(frame_->function.result)});
  }
  if (frame_->node->returns != kAbsent && !frame_->prelude && types.size() == 1) {
    TypeId declared = kNone;
    if (try_type(frame_->node->returns, declared)) {
      check_same(type, declared, stmt.span, "return value does not match the annotation");
    }
  }
  frame_->returned = true;
  frame_->function.result = type;
  b().set_span(stmt.span);
  b().emit(Op::give, kNone, values);
}

void Checker::check(const Stmt& stmt) {
  const ValueId condition = truth(value(stmt.value), expr(stmt.value).span);
  b().set_span(stmt.span);
  const ValueId id = b().emit(Op::check, kNone, {condition});
  if (stmt.target != kAbsent && expr(stmt.target).kind == ExprKind::string) {
    frame_->function[id].name = expr(stmt.target).text;
  }
}

}  // namespace causeway::lang
