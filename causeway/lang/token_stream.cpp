#include "causeway/lang/token_stream.h"

#include "causeway/core/shown.h"

namespace causeway::lang {

std::string TokenStream::describe(const Token& token) const {
  switch (token.kind) {
    case TokenKind::newline: return "end of line";
    case TokenKind::indent: return "an indented line";
    case TokenKind::dedent: return "end of block";
    case TokenKind::end: return "end of text";
    default: return shown(source_.text(token.span));
  }
}

const Token& TokenStream::expect(std::string_view text) {
  if (!is(text)) {
    fail(peek().span, {"invalid syntax", describe(peek()), "\"" + std::string(text) + "\""});
  }
  return next();
}

const Token& TokenStream::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) fail(peek().span, {"invalid syntax", describe(peek()), std::string(what)});
  return next();
}

}  // namespace causeway::lang
