#include "causeway/lang/emit/warp.h"

#include "causeway/core/error.h"
#include "causeway/lang/parser.h"

#include <algorithm>
#include <set>

namespace causeway::lang {

namespace {

// Binding strength of Python's operators, weakest first.
enum Strength : int {
  kList,
  kTernary,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBinary = 10,
  kUnary = 20,
  kPower,
  kPostfix
};

int strength_of(std::string_view op) {
  constexpr std::string_view kLevels[] = {"|", "^", "&", "<< >>", "+ -", "* / // % @"};
  for (int i = 0; i < 6; ++i) {
    const std::string_view level = kLevels[i];
    for (std::size_t at = level.find(op); at != std::string_view::npos;
         at = level.find(op, at + 1)) {
      const std::size_t end = at + op.size();
      if ((at == 0 || level[at - 1] == ' ') && (end == level.size() || level[end] == ' '))
        return kBinary + i;
    }
  }
  return kPower;  // **
}

class WarpWriter {
 public:
  explicit WarpWriter(const Source& source) : source_(source), tree_(parse(source)) {
    for (const std::string_view name : {"wp", "cw", "warp", "causeway"}) modules_.insert(name);
    modules_.insert(tree_.modules.begin(), tree_.modules.end());
    imported_.insert(tree_.imported.begin(), tree_.imported.end());
  }

  std::string run(std::string_view kernel) {
    const auto found = std::ranges::find_if(tree_.functions, [&](const FunctionNode& function) {
      return function.name == kernel && function.kind == FunctionKind::kernel;
    });
    if (found == tree_.functions.end())
      fail(ErrorKind::invalid_argument, "lang.emit",
           "there is no kernel \"" + std::string(kernel) + "\"");
    // Writing a definition finds the names that it uses: once more until there are no new ones.
    std::string text;
    std::size_t n_used = 0;
    do {
      n_used = used_.size();
      text = definitions(*found);
    } while (used_.size() > n_used);
    return (uses_any_ ? "from typing import Any\n\n" : "") + text;
  }

 private:
  // The kernel after everything it is known to use.
  std::string definitions(const FunctionNode& kernel) {
    std::string text = "import warp as wp\n";
    for (const ConstantNode& constant : tree_.constants) {
      if (used_.contains(constant.name))
        text += "\n" + std::string(constant.name) + " = " + expr(constant.value, kList);
    }
    if (text.back() != '\n') text += "\n";
    for (const StructNode& node : tree_.structs) {
      if (used_.contains(node.name)) write(node, text);
    }
    for (const FunctionNode& function : tree_.functions) {
      if (function.kind == FunctionKind::function && used_.contains(function.name))
        write(function, text);
    }
    write(kernel, text);
    return text;
  }

  bool is_module(ExprId id) const {
    const Expr& e = tree_.expr(id);
    return e.kind == ExprKind::name && modules_.contains(e.text);
  }

  // A builtin of the language; Warp has no block reductions.
  std::string builtin(const Expr& e) {
    if (e.text.starts_with("block_"))
      throw CompileError(source_, e.span, {"Warp has no " + std::string(e.text)});
    return "wp." + std::string(e.text);
  }

  std::string list(Range items, const char* between = ", ") {
    std::string text;
    for (const Item* item = tree_.begin(items); item != tree_.end(items); ++item) {
      text += text.empty() ? "" : between;
      if (!item->keyword.empty()) text += std::string(item->keyword) + "=";
      text += expr(item->value, kTernary);
    }
    return text;
  }

  std::string optional(ExprId id) { return id == kAbsent ? "" : expr(id, kTernary); }

  // The expression, in parentheses if it binds more weakly than `least`.
  std::string expr(ExprId id, int least) {
    int strength = kPostfix;
    std::string text = raw(tree_.expr(id), strength);
    return strength < least ? "(" + text + ")" : text;
  }

  std::string raw(const Expr& e, int& strength) {
    switch (e.kind) {
      case ExprKind::name: {
        used_.insert(e.text);
        if (e.text == "Any") uses_any_ = true;
        return imported_.contains(e.text) ? builtin(e) : std::string(e.text);
      }
      case ExprKind::unary: {
        strength = e.text == "not" ? kNot : kUnary;
        return std::string(e.text) + (e.text == "not" ? " " : "") + expr(e.a, strength);
      }
      case ExprKind::binary: {
        strength = strength_of(e.text);
        const bool power = e.text == "**";
        return expr(e.a, power ? kPostfix : strength) + " " + std::string(e.text) + " " +
               expr(e.b, power ? kUnary : strength + 1);
      }
      case ExprKind::compare: {
        strength = kCompare;
        std::string text = expr(e.a, kBinary);
        for (const Item* item = tree_.begin(e.items); item != tree_.end(e.items); ++item)
          text += " " + std::string(item->keyword) + " " + expr(item->value, kBinary);
        return text;
      }
      case ExprKind::logical: {
        strength = e.text == "and" ? kAnd : kOr;
        return expr(e.a, strength) + " " + std::string(e.text) + " " + expr(e.b, strength + 1);
      }
      case ExprKind::condition:
        strength = kTernary;
        return expr(e.a, kOr) + " if " + expr(e.b, kOr) + " else " + expr(e.c, kTernary);
      case ExprKind::call: return expr(e.a, kPostfix) + "(" + list(e.items) + ")";
      case ExprKind::attribute:
        return is_module(e.a) ? builtin(e) : expr(e.a, kPostfix) + "." + std::string(e.text);
      case ExprKind::subscript: return expr(e.a, kPostfix) + "[" + list(e.items) + "]";
      case ExprKind::tuple: {
        strength = kList;
        return list(e.items) + (e.items.count == 1 ? "," : "");
      }
      case ExprKind::list: return "[" + list(e.items) + "]";
      case ExprKind::slice: {
        const std::string step = optional(e.c);
        return optional(e.a) + ":" + optional(e.b) + (step.empty() ? "" : ":" + step);
      }
      case ExprKind::ellipsis: return "...";
      default: return std::string(source_.text(e.span));
    }
  }

  void line(std::string& out, int depth, const std::string& text) {
    out += std::string(static_cast<std::size_t>(depth) * 4, ' ') + text + "\n";
  }

  void block(std::string& out, int depth, Range range) {
    for (std::uint32_t i = 0; i < range.count; ++i)
      statement(out, depth, tree_.stmts[tree_.blocks[range.first + i]]);
    if (range.count == 0) line(out, depth, "pass");
  }

  void statement(std::string& out, int depth, const Stmt& s) {
    const auto value = [&] { return expr(s.value, kList); };
    switch (s.kind) {
      case StmtKind::expression: return line(out, depth, value());
      case StmtKind::assign: {
        std::string target = expr(s.target, kList);
        if (s.annotation != kAbsent) target += ": " + expr(s.annotation, kTernary);
        return line(out, depth, target + " = " + value());
      }
      case StmtKind::augmented: {
        std::string op(s.text);
        if (!op.ends_with("=")) op += "=";
        return line(out, depth, expr(s.target, kList) + " " + op + " " + value());
      }
      case StmtKind::branch: {
        line(out, depth, "if " + value() + ":");
        block(out, depth + 1, s.body);
        if (s.orelse.count == 0) return;
        line(out, depth, "else:");
        return block(out, depth + 1, s.orelse);
      }
      case StmtKind::loop:
        line(out, depth, "while " + value() + ":");
        return block(out, depth + 1, s.body);
      case StmtKind::iterate:
        line(out, depth, "for " + expr(s.target, kList) + " in " + value() + ":");
        return block(out, depth + 1, s.body);
      case StmtKind::leave: return line(out, depth, "break");
      case StmtKind::proceed: return line(out, depth, "continue");
      case StmtKind::give:
        return line(out, depth, s.value == kAbsent ? "return" : "return " + value());
      case StmtKind::check:
        return line(out, depth,
                    "assert " + expr(s.value, kTernary) +
                        (s.target == kAbsent ? "" : ", " + expr(s.target, kTernary)));
      case StmtKind::pass: return line(out, depth, "pass");
    }
  }

  std::string parameter(const Parameter& p) {
    std::string text(p.name);
    if (p.annotation != kAbsent) text += ": " + expr(p.annotation, kTernary);
    if (p.fallback != kAbsent) text += " = " + expr(p.fallback, kTernary);
    return text;
  }

  void write(const FunctionNode& function, std::string& out) {
    std::string head = "def " + std::string(function.name) + "(";
    for (const Parameter& p : function.parameters)
      head += (&p == function.parameters.data() ? "" : ", ") + parameter(p);
    head += ")";
    if (function.returns != kAbsent) head += " -> " + expr(function.returns, kTernary);
    line(out, 0, function.kind == FunctionKind::kernel ? "\n\n@wp.kernel" : "\n\n@wp.func");
    line(out, 0, head + ":");
    block(out, 1, function.body);
  }

  void write(const StructNode& node, std::string& out) {
    line(out, 0, "\n\n@wp.struct");
    line(out, 0, "class " + std::string(node.name) + ":");
    for (const Parameter& field : node.fields) line(out, 1, parameter(field));
    if (node.fields.empty()) line(out, 1, "pass");
  }

  const Source& source_;
  Tree tree_;
  std::set<std::string_view> modules_;
  std::set<std::string_view> imported_;
  std::set<std::string_view> used_;  // names in what is written
  bool uses_any_ = false;
};

}  // namespace

std::string emit_warp(const Source& source, std::string_view kernel) {
  return WarpWriter(source).run(kernel);
}

}  // namespace causeway::lang
