#include "causeway/lang/expression_parser.h"

#include "causeway/lang/parser.h"

#include <algorithm>

namespace causeway::lang {

struct DepthGuard {
  explicit DepthGuard(ExpressionParser& parser) : owner(parser) {
    if (++owner.depth_ > kMaxExpressionDepth) {
      owner.tokens_.fail(owner.tokens_.peek().span,
                         {"expression is nested too deeply", "",
                          "at most " + std::to_string(kMaxExpressionDepth) + " levels"});
    }
  }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --owner.depth_; }
  ExpressionParser& owner;
};

// The tree of a long chain such as a + b + c + … is as deep as it is long, and later stages visit
// it recursively.
ExprId ExpressionParser::add(Expr expr) {
  const auto below = [&](ExprId child) {
    if (child == kAbsent) return;
    const int height = tree_.exprs[child].height + 1;
    if (height > kMaxExpressionHeight) {
      tokens_.fail(expr.span,
                   {"expression is nested too deeply", "",
                    "at most " + std::to_string(kMaxExpressionHeight) + " operators in a row"});
    }
    expr.height = std::max(expr.height, static_cast<std::uint16_t>(height));
  };
  below(expr.a);
  below(expr.b);
  below(expr.c);
  for (std::uint32_t i = 0; i < expr.items.count; ++i)
    below(tree_.items[expr.items.first + i].value);
  tree_.exprs.push_back(expr);
  return static_cast<ExprId>(tree_.exprs.size() - 1);
}

ExprId ExpressionParser::add(ExprKind kind, Span span, std::string_view text, ExprId a, ExprId b,
                             ExprId c) {
  Expr expr;
  expr.kind = kind;
  expr.span = span;
  expr.text = text;
  expr.a = a;
  expr.b = b;
  expr.c = c;
  return add(expr);
}

Range ExpressionParser::store(std::size_t first) {
  const Range range{static_cast<std::uint32_t>(tree_.items.size()),
                    static_cast<std::uint32_t>(items_.size() - first)};
  tree_.items.insert(tree_.items.end(), items_.begin() + static_cast<std::ptrdiff_t>(first),
                     items_.end());
  items_.resize(first);
  return range;
}

Span ExpressionParser::from(ExprId first) const {
  return span_between(tree_.exprs[first].span.begin);
}

Span ExpressionParser::span_between(std::uint32_t begin) const { return {begin, last_end_}; }

ExprId ExpressionParser::expression_list() {
  const std::uint32_t begin = tokens_.peek().span.begin;
  const ExprId first = expression();
  if (!tokens_.is(",")) return first;
  const std::size_t items = items_.size();
  items_.push_back({first});
  while (tokens_.accept(",")) {
    const Token& token = tokens_.peek();
    if (token.kind == TokenKind::newline || tokens_.is("=") || tokens_.is(")")) break;
    items_.push_back({expression()});
  }
  const ExprId tuple = add(ExprKind::tuple, span_between(begin));
  tree_.exprs[tuple].items = store(items);
  return tuple;
}

ExprId ExpressionParser::expression() {
  const DepthGuard guard(*this);
  if (tokens_.is("lambda")) refuse_keyword(tokens_.peek());
  const ExprId value = logical_or();
  if (tokens_.is(":=")) {
    tokens_.fail(tokens_.peek().span, {"assignment expressions (:=) are not supported in kernels"});
  }
  if (!tokens_.accept("if")) return value;
  const ExprId condition = logical_or();
  tokens_.expect("else");
  const ExprId other = expression();
  return add(ExprKind::condition, from(value), {}, value, condition, other);
}

ExprId ExpressionParser::logical_or() {
  ExprId left = logical_and();
  while (tokens_.accept("or")) {
    const ExprId right = logical_and();
    left = add(ExprKind::logical, from(left), "or", left, right);
  }
  return left;
}

ExprId ExpressionParser::logical_and() {
  ExprId left = negation();
  while (tokens_.accept("and")) {
    const ExprId right = negation();
    left = add(ExprKind::logical, from(left), "and", left, right);
  }
  return left;
}

ExprId ExpressionParser::negation() {
  if (!tokens_.is("not")) return comparison();
  const DepthGuard guard(*this);
  const std::uint32_t begin = tokens_.next().span.begin;
  const ExprId operand = negation();
  return add(ExprKind::unary, span_between(begin), "not", operand);
}

namespace {

bool is_comparison(const Token& token) {
  if (token.kind != TokenKind::symbol) return false;
  const std::string_view text = token.text;
  if (text.size() == 1) return text[0] == '<' || text[0] == '>';
  return text == "<=" || text == ">=" || text == "==" || text == "!=";
}

}  // namespace

ExprId ExpressionParser::comparison() {
  const ExprId left = binary(0);
  const std::size_t items = items_.size();
  for (;;) {
    const Token& token = tokens_.peek();
    if (token.kind == TokenKind::keyword &&
        (token.text == "in" || token.text == "is" ||
         (token.text == "not" && tokens_.peek(1).text == "in"))) {
      refuse_keyword(token);
    }
    if (!is_comparison(token)) break;
    const std::string_view text = tokens_.next().text;
    items_.push_back({binary(0), text});
  }
  if (items_.size() == items) return left;
  const ExprId id = add(ExprKind::compare, from(left), {}, left);
  tree_.exprs[id].items = store(items);
  return id;
}

namespace {

// How strongly a binary operator binds, from 0; -1 for any other token.
int binary_level(const Token& token) {
  if (token.kind != TokenKind::symbol) return -1;
  const std::string_view text = token.text;
  const char c = text[0];
  if (text.size() == 1) {
    switch (c) {
      case '|': return 0;
      case '^': return 1;
      case '&': return 2;
      case '+':
      case '-': return 4;
      case '*':
      case '/':
      case '%':
      case '@': return 5;
      default: return -1;
    }
  }
  if (text == "<<" || text == ">>") return 3;
  return text == "//" ? 5 : -1;
}

}  // namespace

ExprId ExpressionParser::binary(int level) {
  ExprId left = unary();
  for (;;) {
    const int found = binary_level(tokens_.peek());
    if (found < level) return left;
    const std::string_view text = tokens_.next().text;
    const ExprId right = binary(found + 1);
    left = add(ExprKind::binary, from(left), text, left, right);
  }
}

ExprId ExpressionParser::unary() {
  if (!tokens_.is("-") && !tokens_.is("+") && !tokens_.is("~")) return power();
  const DepthGuard guard(*this);
  const Token& token = tokens_.next();
  const ExprId operand = unary();
  return add(ExprKind::unary, span_between(token.span.begin), token.text, operand);
}

ExprId ExpressionParser::power() {
  const ExprId base = postfix();
  if (!tokens_.accept("**")) return base;
  const DepthGuard guard(*this);
  const ExprId exponent = unary();
  return add(ExprKind::binary, from(base), "**", base, exponent);
}

ExprId ExpressionParser::postfix() {
  ExprId value = atom();
  for (int links = 0;; ++links) {
    if (links > kMaxExpressionDepth) {
      tokens_.fail(tokens_.peek().span, {"expression is nested too deeply"});
    }
    if (tokens_.accept("(")) {
      value = call(value);
    } else if (tokens_.accept("[")) {
      value = subscript(value);
    } else if (tokens_.accept(".")) {
      const Token& name = tokens_.expect(TokenKind::name, "an attribute name");
      last_end_ = name.span.end;
      value = add(ExprKind::attribute, from(value), name.text, value);
    } else {
      return value;
    }
  }
}

ExprId ExpressionParser::atom() {
  const Token& token = tokens_.peek();
  switch (token.kind) {
    case TokenKind::name:
      last_end_ = tokens_.next().span.end;
      return add(ExprKind::name, token.span, token.text);
    case TokenKind::integer:
    case TokenKind::real: return number();
    case TokenKind::string: {
      last_end_ = tokens_.next().span.end;
      return add(ExprKind::string, token.span, token.text);
    }
    case TokenKind::fstring: tokens_.fail(token.span, {"f-strings are not supported in kernels"});
    case TokenKind::keyword: {
      if (token.text != "True" && token.text != "False" && token.text != "None") {
        refuse_keyword(token);
      }
      last_end_ = tokens_.next().span.end;
      if (token.text == "None") return add(ExprKind::none, token.span, token.text);
      const ExprId id = add(ExprKind::boolean, token.span, token.text);
      tree_.exprs[id].integer = token.text == "True";
      return id;
    }
    default: break;
  }
  if (tokens_.is("(")) return group();
  if (tokens_.is("[")) return list();
  if (tokens_.is("{")) {
    tokens_.fail(token.span, {"dict and set displays are not supported in kernels", "", "",
                              "use a @wp.struct for named values"});
  }
  if (tokens_.is("*"))
    tokens_.fail(token.span, {"starred expressions are not supported in kernels"});
  if (tokens_.accept("...")) {
    last_end_ = token.span.end;
    return add(ExprKind::ellipsis, token.span);
  }
  tokens_.fail(token.span, {"invalid syntax", tokens_.describe(token), "an expression"});
}

ExprId ExpressionParser::group() {
  const DepthGuard guard(*this);
  const std::uint32_t begin = tokens_.next().span.begin;
  const std::size_t items = items_.size();
  bool comma = false;
  while (!tokens_.is(")")) {
    items_.push_back({expression()});
    if (tokens_.is("for")) {
      tokens_.fail(tokens_.peek().span, {"comprehensions are not supported in kernels"});
    }
    if (!tokens_.is(")")) {
      tokens_.expect(",");
      comma = true;
    }
  }
  last_end_ = tokens_.next().span.end;
  if (items_.size() == items + 1 && !comma) {
    const ExprId inner = items_.back().value;
    items_.pop_back();
    return inner;
  }
  const ExprId id = add(ExprKind::tuple, span_between(begin));
  tree_.exprs[id].items = store(items);
  return id;
}

ExprId ExpressionParser::list() {
  const DepthGuard guard(*this);
  const std::uint32_t begin = tokens_.next().span.begin;
  const std::size_t items = items_.size();
  while (!tokens_.is("]")) {
    items_.push_back({expression()});
    if (tokens_.is("for")) {
      tokens_.fail(tokens_.peek().span, {"comprehensions are not supported in kernels", "", "",
                                         "write a for loop over range()"});
    }
    if (!tokens_.is("]")) tokens_.expect(",");
  }
  last_end_ = tokens_.next().span.end;
  const ExprId id = add(ExprKind::list, span_between(begin));
  tree_.exprs[id].items = store(items);
  return id;
}

ExprId ExpressionParser::call(ExprId callee) {
  const DepthGuard guard(*this);
  const std::size_t items = items_.size();
  while (!tokens_.is(")")) {
    Item item;
    if (tokens_.is(TokenKind::name) && tokens_.peek(1).text == "=" &&
        tokens_.peek(1).kind == TokenKind::symbol) {
      item.keyword = tokens_.next().text;
      tokens_.next();
    } else if (tokens_.is("*") || tokens_.is("**")) {
      tokens_.fail(tokens_.peek().span, {"starred arguments are not supported in kernels"});
    }
    item.value = expression();
    if (tokens_.is("for")) {
      tokens_.fail(tokens_.peek().span, {"comprehensions are not supported in kernels"});
    }
    items_.push_back(item);
    if (!tokens_.is(")")) tokens_.expect(",");
  }
  last_end_ = tokens_.next().span.end;
  const ExprId id = add(ExprKind::call, from(callee), {}, callee);
  tree_.exprs[id].items = store(items);
  return id;
}

ExprId ExpressionParser::subscript(ExprId object) {
  const DepthGuard guard(*this);
  const std::size_t items = items_.size();
  do {
    if (tokens_.is("]")) break;
    items_.push_back({index_item()});
  } while (tokens_.accept(","));
  last_end_ = tokens_.expect("]").span.end;
  if (items_.size() == items)
    tokens_.fail(tokens_.peek().span, {"invalid syntax", "\"[]\"", "an index"});
  const ExprId id = add(ExprKind::subscript, from(object), {}, object);
  tree_.exprs[id].items = store(items);
  return id;
}

ExprId ExpressionParser::index_item() {
  const std::uint32_t begin = tokens_.peek().span.begin;
  ExprId parts[3] = {kAbsent, kAbsent, kAbsent};
  if (!tokens_.is(":")) parts[0] = expression();
  if (!tokens_.is(":")) return parts[0];
  last_end_ = tokens_.next().span.end;
  if (!tokens_.is(":") && !tokens_.is("]") && !tokens_.is(",")) parts[1] = expression();
  if (tokens_.accept(":") && !tokens_.is("]") && !tokens_.is(",")) parts[2] = expression();
  return add(ExprKind::slice, span_between(begin), {}, parts[0], parts[1], parts[2]);
}

void ExpressionParser::refuse_keyword(const Token& token) {
  const std::string word(token.text);
  const bool compares = word == "in" || word == "is" || word == "not";
  if (compares || word == "lambda" || word == "await" || word == "yield") {
    const char* hint = compares           ? "compare with == or !="
                       : word == "lambda" ? "write a function with @wp.func"
                                          : "";
    const std::string shown_word = word == "not" ? "not in" : word;
    tokens_.fail(token.span, {"`" + shown_word + "` is not supported in kernels", "", "", hint});
  }
  tokens_.fail(token.span, {"invalid syntax", tokens_.describe(token), "an expression"});
}

}  // namespace causeway::lang
