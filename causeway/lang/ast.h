// The syntax tree: nodes in pools, linked by index, names as views into the source.
#pragma once

#include "causeway/lang/source.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace causeway::lang {

using ExprId = std::uint32_t;
using StmtId = std::uint32_t;
inline constexpr std::uint32_t kAbsent = 0xffffffff;

enum class ExprKind : std::uint8_t {
  name,
  integer,
  real,
  boolean,
  none,
  string,
  unary,      // text: operator; a
  binary,     // text: operator; a, b
  compare,    // a, then items: (operator as keyword, operand)
  logical,    // text: "and" or "or"; a, b
  condition,  // a if b else c
  call,       // a(items)
  attribute,  // a.text
  subscript,  // a[items]
  tuple,      // items
  list,       // items; accepted where a shape or a list of types is expected
  slice,      // a:b:c, each may be absent
  ellipsis,
};

// A child in a list: an argument with its keyword, or an operand with its operator.
struct Item {
  ExprId value = kAbsent;
  std::string_view keyword = {};
};

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Expr {
  ExprKind kind = ExprKind::none;
  bool overflow = false;     // of an integer that needs more than 64 bits
  std::uint16_t height = 0;  // of the tree below
  Span span;
  std::string_view text;
  std::int64_t integer = 0;
  double real = 0;
  ExprId a = kAbsent;
  ExprId b = kAbsent;
  ExprId c = kAbsent;
  Range items;
};

enum class StmtKind : std::uint8_t {
  expression,  // value
  assign,      // target = value; annotation where annotated
  augmented,   // target text= value
  branch,      // if value: body else: orelse
  loop,        // while value: body
  iterate,     // for target in value: body
  leave,       // break
  proceed,     // continue
  give,        // return value
  check,       // assert value, target
  pass,
};

struct Stmt {
  StmtKind kind = StmtKind::pass;
  Span span;
  std::string_view text;
  ExprId target = kAbsent;
  ExprId value = kAbsent;
  ExprId annotation = kAbsent;
  Range body;    // in Tree::blocks
  Range orelse;  // in Tree::blocks
};

struct Parameter {
  std::string_view name;
  Span span;
  ExprId annotation = kAbsent;
  ExprId fallback = kAbsent;  // the default value
};

enum class FunctionKind : std::uint8_t { kernel, function };

struct FunctionNode {
  FunctionKind kind = FunctionKind::function;
  std::string_view name;
  Span span;  // of the name
  std::vector<Parameter> parameters;
  ExprId returns = kAbsent;
  Range body;
};

struct StructNode {
  std::string_view name;
  Span span;
  std::vector<Parameter> fields;
};

struct ConstantNode {
  std::string_view name;
  Span span;
  ExprId value = kAbsent;
};

struct Tree {
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<Item> items;
  std::vector<StmtId> blocks;
  std::vector<FunctionNode> functions;
  std::vector<StructNode> structs;
  std::vector<ConstantNode> constants;
  std::vector<std::string_view> modules;   // names that mean the language's module: wp, cw, …
  std::vector<std::string_view> imported;  // names imported from it; "*" for all

  const Expr& expr(ExprId id) const { return exprs[id]; }
  const Item* begin(Range range) const { return items.data() + range.first; }
  const Item* end(Range range) const { return items.data() + range.first + range.count; }
};

}  // namespace causeway::lang
