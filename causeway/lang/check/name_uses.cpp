#include "causeway/lang/check/name_uses.h"

#include "causeway/lang/builtins/table.h"

#include <algorithm>

namespace causeway::lang {

NameUses::NameUses(const Tree& tree, const FunctionNode& function) : tree_(tree) {
  for (const Parameter& parameter : function.parameters) {
    Record& entry = record(parameter.name);
    entry.open = true;
    entry.seen = true;
  }
  block(function.body, nullptr, false);
  for (Record& entry : records_) {
    // A variable whose first assignment is nested may keep its value from one iteration to the
    // next.
    if (!entry.early_nested) continue;
    for (std::uint32_t at = entry.use.block; at != 0; at = parents_[at]) {
      if (loops_[at]) entry.use.block = parents_[at];
    }
  }
}

const NameUse* NameUses::find(std::string_view name) const {
  for (const Record& entry : records_) {
    if (entry.use.name == name) return &entry.use;
  }
  return nullptr;
}

NameUses::Record& NameUses::record(std::string_view name) {
  for (Record& entry : records_) {
    if (entry.use.name == name) return entry;
  }
  Record entry;
  entry.use.name = name;
  records_.push_back(entry);
  return records_.back();
}

void NameUses::touch(Record& entry) {
  const std::uint32_t here = stack_.empty() ? 0 : stack_.back();
  if (!entry.seen) {
    entry.seen = true;
    entry.use.block = here;
    return;
  }
  // The lowest common ancestor; a parent has a smaller number than its children.
  std::uint32_t a = entry.use.block;
  std::uint32_t b = here;
  while (a != b) {
    if (a > b) {
      a = parents_[a];
    } else {
      b = parents_[b];
    }
  }
  if (a != entry.use.block) entry.early_nested = true;
  entry.use.block = a;
}

void NameUses::assign(std::string_view name) {
  Record& entry = record(name);
  touch(entry);
  if (entry.open) entry.use.variable = true;
  entry.open = true;
  entry.home = stack_.back();
}

void NameUses::block(Range range, const Expr* loop_variable, bool loop) {
  const auto id = static_cast<std::uint32_t>(parents_.size());
  parents_.push_back(stack_.empty() ? 0 : stack_.back());
  loops_.push_back(loop);
  stack_.push_back(id);
  if (loop_variable != nullptr) assign(loop_variable->text);
  for (std::uint32_t i = 0; i < range.count; ++i) {
    statement(tree_.stmts[tree_.blocks[range.first + i]]);
  }
  stack_.pop_back();
  if (id == 0) return;
  for (Record& entry : records_) {
    if (entry.open && entry.home == id) entry.open = false;
  }
}

void NameUses::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::assign:
      read(stmt.value);
      target(stmt.target, false);
      break;
    case StmtKind::augmented:
      read(stmt.value);
      target(stmt.target, true);
      break;
    case StmtKind::branch:
      read(stmt.value);
      block(stmt.body, nullptr, false);
      block(stmt.orelse, nullptr, false);
      break;
    case StmtKind::loop:
      read(stmt.value);
      block(stmt.body, nullptr, true);
      break;
    case StmtKind::iterate:
      read(stmt.value);
      block(stmt.body, &tree_.exprs[stmt.target], true);
      break;
    default:
      read(stmt.value);
      read(stmt.target);
      break;
  }
}

void NameUses::target(ExprId id, bool also_read) {
  const Expr& expr = tree_.exprs[id];
  switch (expr.kind) {
    case ExprKind::name:
      if (also_read) read(id);
      assign(expr.text);
      break;
    case ExprKind::tuple:
    case ExprKind::list:
      for (const Item* item = tree_.begin(expr.items); item != tree_.end(expr.items); ++item) {
        target(item->value, also_read);
      }
      break;
    case ExprKind::attribute:
    case ExprKind::subscript: {
      for (const Item* item = tree_.begin(expr.items); item != tree_.end(expr.items); ++item) {
        read(item->value);
      }
      // Assigning a component makes the value a variable. Arrays are not values, but declaring them
      // as variables has no effect.
      target(expr.a, true);
      break;
    }
    default: read(id); break;
  }
}

void NameUses::read(ExprId id) {
  if (id == kAbsent) return;
  const Expr& expr = tree_.exprs[id];
  if (expr.kind == ExprKind::name) {
    for (Record& entry : records_) {
      if (entry.use.name != expr.text) continue;
      touch(entry);
      if (!entry.open) entry.use.variable = true;
      return;
    }
    return;
  }
  read(expr.a);
  read(expr.b);
  read(expr.c);
  for (const Item* item = tree_.begin(expr.items); item != tree_.end(expr.items); ++item) {
    read(item->value);
  }
  if (expr.kind == ExprKind::call && expr.items.count > 0) {
    const Expr& callee = tree_.exprs[expr.a];
    const Builtin* builtin = callee.kind == ExprKind::attribute || callee.kind == ExprKind::name
                                 ? find_builtin(callee.text)
                                 : nullptr;
    const Expr& first = tree_.exprs[tree_.begin(expr.items)->value];
    if (builtin != nullptr && builtin->updates_state && first.kind == ExprKind::name) {
      assign(first.text);
    }
  }
}

}  // namespace causeway::lang
