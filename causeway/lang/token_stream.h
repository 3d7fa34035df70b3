// A cursor over tokens with the checks that parsers make.
#pragma once

#include "causeway/lang/lexer.h"

namespace causeway::lang {

class TokenStream {
 public:
  explicit TokenStream(const Source& source) : source_(source), tokens_(tokenize(source)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool is(std::string_view text) const {
    const Token& token = peek();
    return (token.kind == TokenKind::symbol || token.kind == TokenKind::keyword) &&
           token.text == text;
  }
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  bool accept(TokenKind kind) {
    if (!is(kind)) return false;
    next();
    return true;
  }
  const Token& expect(std::string_view text);
  const Token& expect(TokenKind kind, std::string_view what);

  [[noreturn]] void fail(Span span, const Diagnostic& diagnostic) const {
    throw CompileError(source_, span, diagnostic);
  }
  const Source& source() const { return source_; }
  std::string describe(const Token& token) const;

 private:
  const Source& source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace causeway::lang
