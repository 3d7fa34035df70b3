#include "causeway/lang/parser.h"

#include "causeway/core/shown.h"
#include "causeway/lang/expression_parser.h"

#include <algorithm>

namespace causeway::lang {

namespace {

class Parser {
 public:
  Parser(const Source& source, bool plain_functions)
      : tokens_(source), expressions_(tokens_, tree_), plain_functions_(plain_functions) {
    tree_.exprs.reserve(source.text().size() / 6 + 16);
    tree_.stmts.reserve(source.text().size() / 24 + 8);
    tree_.items.reserve(source.text().size() / 12 + 8);
    tree_.modules = {"wp", "cw", "warp", "causeway"};
  }

  Tree run() {
    while (!tokens_.at_end()) top_level();
    return std::move(tree_);
  }

 private:
  void top_level() {
    if (tokens_.accept(TokenKind::newline) || tokens_.accept(TokenKind::indent) ||
        tokens_.accept(TokenKind::dedent)) {
      return;
    }
    if (tokens_.is("@")) {
      decorated();
    } else if (tokens_.is("def") && plain_functions_) {
      function(FunctionKind::function);
    } else if (tokens_.is("import") || tokens_.is("from")) {
      import();
    } else if (tokens_.is(TokenKind::name) && tokens_.peek(1).text == "=" &&
               tokens_.peek(1).kind == TokenKind::symbol) {
      constant();
    } else {
      skip_statement();
    }
  }

  // A logical line, and the block under it.
  void skip_statement() {
    while (!tokens_.at_end() && !tokens_.is(TokenKind::newline)) tokens_.next();
    tokens_.accept(TokenKind::newline);
    if (!tokens_.is(TokenKind::indent)) return;
    int depth = 0;
    do {
      if (tokens_.is(TokenKind::indent)) ++depth;
      if (tokens_.is(TokenKind::dedent)) --depth;
      tokens_.next();
    } while (depth > 0 && !tokens_.at_end());
  }

  void import() {
    const bool from = tokens_.next().text == "from";
    const std::string_view module = tokens_.is(TokenKind::name) ? tokens_.next().text : "";
    const bool ours = module == "warp" || module == "causeway";
    if (ours && !from && tokens_.accept("as") && tokens_.is(TokenKind::name)) {
      tree_.modules.push_back(tokens_.next().text);
    }
    if (ours && from && tokens_.accept("import")) {
      tokens_.accept("(");
      if (tokens_.accept("*")) tree_.imported.push_back("*");
      while (tokens_.is(TokenKind::name)) {
        tree_.imported.push_back(tokens_.next().text);
        if (!tokens_.accept(",")) break;
      }
    }
    skip_statement();
  }

  // NAME = expression, if the expression belongs to the language; anything else is skipped.
  void constant() {
    const Token name = tokens_.next();
    tokens_.next();
    try {
      const ExprId value = expressions_.expression_list();
      if (tokens_.is(TokenKind::newline)) {
        tree_.constants.push_back({name.text, name.span, value});
        tokens_.next();
        return;
      }
    } catch (const CompileError&) {
      // A list, a call of another library …: not a constant of the kernels.
    }
    skip_statement();
  }

  void decorated() {
    std::string_view role;
    while (tokens_.accept("@")) {
      std::string_view name;
      while (tokens_.is(TokenKind::name)) {
        name = tokens_.next().text;
        if (!tokens_.accept(".")) break;
      }
      if (name == "kernel" || name == "func" || name == "struct") role = name;
      if (name == "overload") role = "skip";
      while (!tokens_.at_end() && !tokens_.is(TokenKind::newline)) tokens_.next();
      tokens_.accept(TokenKind::newline);
    }
    if (role == "struct" && tokens_.is("class")) {
      structure();
    } else if ((role == "kernel" || role == "func") && tokens_.is("def")) {
      function(role == "kernel" ? FunctionKind::kernel : FunctionKind::function);
    } else if (role == "kernel" || role == "func" || role == "struct") {
      const std::string wanted = role == "struct" ? "\"class\"" : "\"def\"";
      tokens_.fail(tokens_.peek().span, {"invalid syntax after @" + std::string(role),
                                         tokens_.describe(tokens_.peek()), wanted});
    } else {
      skip_statement();
    }
  }

  void structure() {
    tokens_.next();
    StructNode node;
    const Token& name = tokens_.expect(TokenKind::name, "the struct's name");
    node.name = name.text;
    node.span = name.span;
    if (tokens_.accept("(")) tokens_.expect(")");
    tokens_.expect(":");
    tokens_.expect(TokenKind::newline, "end of line");
    tokens_.expect(TokenKind::indent, "an indented block");
    while (!tokens_.accept(TokenKind::dedent) && !tokens_.at_end()) {
      if (tokens_.accept("pass") || tokens_.accept(TokenKind::string)) {
        tokens_.expect(TokenKind::newline, "end of line");
        continue;
      }
      if (tokens_.is("def") || tokens_.is("@")) {
        tokens_.fail(tokens_.peek().span,
                     {"structs cannot have methods", "", "", "write a function with @wp.func"});
      }
      const Token& field = tokens_.expect(TokenKind::name, "a field name");
      tokens_.expect(":");
      Parameter parameter{field.text, field.span, expressions_.expression(), kAbsent};
      if (tokens_.accept("=")) parameter.fallback = expressions_.expression();
      node.fields.push_back(parameter);
      tokens_.expect(TokenKind::newline, "end of line");
    }
    tree_.structs.push_back(std::move(node));
  }

  void function(FunctionKind kind) {
    tokens_.next();
    FunctionNode node;
    node.kind = kind;
    const Token& name = tokens_.expect(TokenKind::name, "the function's name");
    node.name = name.text;
    node.span = name.span;
    tokens_.expect("(");
    while (!tokens_.is(")")) {
      if (tokens_.is("*") || tokens_.is("**") || tokens_.is("/")) {
        tokens_.fail(tokens_.peek().span, {"variadic parameters are not supported in kernels"});
      }
      const Token& parameter = tokens_.expect(TokenKind::name, "a parameter name");
      node.parameters.push_back({parameter.text, parameter.span, kAbsent, kAbsent});
      if (tokens_.accept(":")) node.parameters.back().annotation = expressions_.expression();
      if (tokens_.accept("=")) node.parameters.back().fallback = expressions_.expression();
      if (!tokens_.is(")")) tokens_.expect(",");
    }
    tokens_.next();
    if (tokens_.accept("->")) node.returns = expressions_.expression();
    node.body = block();
    tree_.functions.push_back(std::move(node));
  }

  Range block() {
    tokens_.expect(":");
    std::vector<StmtId> ids;
    if (!tokens_.accept(TokenKind::newline)) {
      simple_statements(ids);
    } else {
      tokens_.expect(TokenKind::indent, "an indented block");
      while (!tokens_.accept(TokenKind::dedent) && !tokens_.at_end()) statement(ids);
    }
    const Range range{static_cast<std::uint32_t>(tree_.blocks.size()),
                      static_cast<std::uint32_t>(ids.size())};
    tree_.blocks.insert(tree_.blocks.end(), ids.begin(), ids.end());
    return range;
  }

  StmtId add(Stmt stmt, std::uint32_t begin) {
    stmt.span.begin = begin;
    tree_.stmts.push_back(stmt);
    return static_cast<StmtId>(tree_.stmts.size() - 1);
  }

  void statement(std::vector<StmtId>& ids) {
    if (++depth_ > kMaxExpressionDepth) {
      tokens_.fail(tokens_.peek().span, {"blocks are nested too deeply"});
    }
    const Token& token = tokens_.peek();
    if (token.kind == TokenKind::keyword) refuse(token);
    if (tokens_.is("@")) refuse_definition(token.span);
    if (tokens_.is("if")) {
      ids.push_back(branch());
    } else if (tokens_.is("while")) {
      ids.push_back(loop());
    } else if (tokens_.is("for")) {
      ids.push_back(iterate());
    } else {
      simple_statements(ids);
    }
    --depth_;
  }

  void refuse(const Token& token) {
    static constexpr std::string_view kRefused[] = {"class", "try",    "with",     "import",
                                                    "from",  "global", "nonlocal", "del",
                                                    "raise", "async",  "yield",    "await"};
    if (token.text == "def") refuse_definition(token.span);
    if (std::find(std::begin(kRefused), std::end(kRefused), token.text) == std::end(kRefused))
      return;
    std::string hint;
    if (token.text == "class") hint = "declare a @wp.struct at the top of the file";
    if (token.text == "raise") hint = "use assert";
    tokens_.fail(token.span,
                 {"`" + std::string(token.text) + "` is not supported in kernels", "", "", hint});
  }

  [[noreturn]] void refuse_definition(Span span) {
    tokens_.fail(span, {"nested functions are not supported in kernels", "", "",
                        "move the function to the top of the file, under @wp.func"});
  }

  StmtId branch() {
    const std::uint32_t begin = tokens_.next().span.begin;
    Stmt stmt;
    stmt.kind = StmtKind::branch;
    stmt.value = expressions_.expression();
    stmt.span.end = tokens_.peek().span.begin;
    stmt.body = block();
    if (tokens_.is("elif")) {
      if (++depth_ > kMaxExpressionDepth) {
        tokens_.fail(tokens_.peek().span, {"blocks are nested too deeply"});
      }
      const StmtId inner = branch();
      --depth_;
      stmt.orelse = {static_cast<std::uint32_t>(tree_.blocks.size()), 1};
      tree_.blocks.push_back(inner);
    } else if (tokens_.accept("else")) {
      stmt.orelse = block();
    }
    return add(stmt, begin);
  }

  void refuse_else() {
    if (tokens_.is("else")) {
      tokens_.fail(tokens_.peek().span, {"`else` after a loop is not supported in kernels"});
    }
  }

  StmtId loop() {
    const std::uint32_t begin = tokens_.next().span.begin;
    Stmt stmt;
    stmt.kind = StmtKind::loop;
    stmt.value = expressions_.expression();
    stmt.span.end = tokens_.peek().span.begin;
    stmt.body = block();
    refuse_else();
    return add(stmt, begin);
  }

  StmtId iterate() {
    const std::uint32_t begin = tokens_.next().span.begin;
    Stmt stmt;
    stmt.kind = StmtKind::iterate;
    const Token& name = tokens_.expect(TokenKind::name, "the loop variable");
    Expr target;
    target.kind = ExprKind::name;
    target.span = name.span;
    target.text = name.text;
    if (!tokens_.is("in")) {
      tokens_.fail(tokens_.peek().span,
                   {"a loop has one variable", tokens_.describe(tokens_.peek()), "\"in\""});
    }
    tokens_.next();
    tree_.exprs.push_back(target);
    stmt.target = static_cast<ExprId>(tree_.exprs.size() - 1);
    stmt.value = expressions_.expression_list();
    stmt.span.end = tokens_.peek().span.begin;
    stmt.body = block();
    refuse_else();
    return add(stmt, begin);
  }

  void simple_statements(std::vector<StmtId>& ids) {
    do {
      if (tokens_.is(TokenKind::newline)) break;
      if (tokens_.peek().kind == TokenKind::keyword) refuse(tokens_.peek());
      ids.push_back(simple_statement());
    } while (tokens_.accept(";"));
    tokens_.expect(TokenKind::newline, "end of line");
  }

  StmtId simple_statement() {
    const std::uint32_t begin = tokens_.peek().span.begin;
    Stmt stmt;
    if (tokens_.accept("pass")) {
      stmt.kind = StmtKind::pass;
    } else if (tokens_.accept("break")) {
      stmt.kind = StmtKind::leave;
    } else if (tokens_.accept("continue")) {
      stmt.kind = StmtKind::proceed;
    } else if (tokens_.accept("return")) {
      stmt.kind = StmtKind::give;
      if (!tokens_.is(TokenKind::newline) && !tokens_.is(";")) {
        stmt.value = expressions_.expression_list();
      }
    } else if (tokens_.accept("assert")) {
      stmt.kind = StmtKind::check;
      stmt.value = expressions_.expression();
      if (tokens_.accept(",")) stmt.target = expressions_.expression();
    } else {
      assignment(stmt);
    }
    stmt.span.end = tokens_.peek().span.begin;
    return add(stmt, begin);
  }

  void assignment(Stmt& stmt) {
    const ExprId first = expressions_.expression_list();
    const Token& token = tokens_.peek();
    if (tokens_.accept(":")) {
      stmt.kind = StmtKind::assign;
      stmt.target = first;
      stmt.annotation = expressions_.expression();
      tokens_.expect("=");
      stmt.value = expressions_.expression_list();
    } else if (tokens_.accept("=")) {
      stmt.kind = StmtKind::assign;
      stmt.target = first;
      stmt.value = expressions_.expression_list();
      if (tokens_.is("=")) {
        tokens_.fail(tokens_.peek().span, {"assigning one value to several names is not supported",
                                           "", "", "write one assignment a line"});
      }
    } else if (token.kind == TokenKind::symbol && token.text.size() >= 2 &&
               token.text.back() == '=' && token.text != "==" && token.text != "!=" &&
               token.text != "<=" && token.text != ">=" && token.text != ":=") {
      stmt.kind = StmtKind::augmented;
      stmt.text = tokens_.next().text;
      stmt.text.remove_suffix(1);
      stmt.target = first;
      stmt.value = expressions_.expression_list();
    } else {
      stmt.kind = StmtKind::expression;
      stmt.value = first;
    }
  }

  Tree tree_;
  TokenStream tokens_;
  ExpressionParser expressions_;
  bool plain_functions_;
  int depth_ = 0;
};

}  // namespace

Tree parse(const Source& source, bool plain_functions) {
  return Parser(source, plain_functions).run();
}

ExprId parse_expression(const Source& source, Tree& tree) {
  TokenStream tokens(source);
  const ExprId id = ExpressionParser(tokens, tree).expression();
  if (!tokens.is(TokenKind::newline) && !tokens.at_end()) {
    tokens.fail(tokens.peek().span,
                {"invalid syntax", tokens.describe(tokens.peek()), "end of text"});
  }
  return id;
}

}  // namespace causeway::lang
