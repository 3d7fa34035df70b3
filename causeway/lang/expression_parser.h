// Parses Python expressions by precedence climbing; errors name unsupported syntax.
#pragma once

#include "causeway/lang/ast.h"
#include "causeway/lang/token_stream.h"

namespace causeway::lang {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Tree& tree) : tokens_(tokens), tree_(tree) {}

  ExprId expression();       // one, with conditional expressions
  ExprId expression_list();  // a tuple if commas follow

 private:
  ExprId logical_or();
  ExprId logical_and();
  ExprId negation();
  ExprId comparison();
  ExprId binary(int level);
  ExprId unary();
  ExprId power();
  ExprId postfix();
  ExprId atom();
  ExprId number();
  ExprId group();
  ExprId list();
  ExprId call(ExprId callee);
  ExprId subscript(ExprId object);
  ExprId index_item();
  void refuse_keyword(const Token& token);

  ExprId add(Expr expr);
  ExprId add(ExprKind kind, Span span, std::string_view text = {}, ExprId a = kAbsent,
             ExprId b = kAbsent, ExprId c = kAbsent);
  Range store(std::size_t first);  // the items from `first` on
  Span from(ExprId first) const;
  Span span_between(std::uint32_t begin) const;

  TokenStream& tokens_;
  Tree& tree_;
  int depth_ = 0;
  std::uint32_t last_end_ = 0;
  std::vector<Item> items_;  // a stack: of the lists that are being read
  friend struct DepthGuard;
};

}  // namespace causeway::lang
