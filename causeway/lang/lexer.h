// Python text to tokens, with indentation made explicit.
#pragma once

#include "causeway/lang/source.h"

#include <vector>

namespace causeway::lang {

enum class TokenKind : std::uint8_t {
  name,
  keyword,
  integer,
  real,
  string,
  fstring,
  symbol,
  newline,
  indent,
  dedent,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  Span span;
  std::string_view text;  // of a string: the text between the quotes
};

inline constexpr std::size_t kMaxSourceBytes = 1 << 20;
inline constexpr std::size_t kMaxIndentation = 64;

// All tokens of `source`, `end` last. Throws CompileError.
std::vector<Token> tokenize(const Source& source);

}  // namespace causeway::lang
