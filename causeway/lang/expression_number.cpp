// Number literals.
#include "causeway/core/shown.h"
#include "causeway/lang/expression_parser.h"

#include <charconv>

namespace causeway::lang {

ExprId ExpressionParser::number() {
  const Token& token = tokens_.next();
  last_end_ = token.span.end;
  std::string digits;
  for (const char c : token.text) {
    if (c != '_') digits += c;
  }
  Expr expr;
  expr.span = token.span;
  expr.text = token.text;
  if (token.kind == TokenKind::real) {
    expr.kind = ExprKind::real;
    std::from_chars(digits.data(), digits.data() + digits.size(), expr.real);
    return add(expr);
  }
  expr.kind = ExprKind::integer;
  int base = 10;
  std::size_t skip = 0;
  if (digits.size() > 1 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 10;
    skip = base == 10 ? 0 : 2;
  }
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto done = std::from_chars(digits.data() + skip, end, value, base);
  if (done.ec == std::errc::invalid_argument || done.ptr != end) {
    tokens_.fail(token.span, {"invalid number", shown(token.text)});
  }
  expr.overflow = done.ec == std::errc::result_out_of_range;
  if (expr.overflow) tokens_.fail(token.span, {"integer needs more than 64 bits"});
  expr.integer = static_cast<std::int64_t>(value);
  expr.real = static_cast<double>(value);
  return add(expr);
}

}  // namespace causeway::lang
