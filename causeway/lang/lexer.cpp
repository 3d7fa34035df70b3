#include "causeway/lang/lexer.h"

#include "causeway/core/shown.h"

#include <algorithm>
#include <array>

namespace causeway::lang {

namespace {

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// By character: whether names may have it, and the first keyword that begins with it.
struct CharInfo {
  bool in_name = false;
  std::uint8_t keyword = kKeywords.size();
};
constexpr auto kCharInfo = [] {
  std::array<CharInfo, 256> table{};
  for (int c = 0; c < 128; ++c)
    table[c].in_name = is_name_start(static_cast<char>(c)) || is_digit(static_cast<char>(c));
  for (std::size_t i = kKeywords.size(); i-- > 0;)
    table[static_cast<unsigned char>(kKeywords[i][0])].keyword = static_cast<std::uint8_t>(i);
  return table;
}();

constexpr const CharInfo& info_of(char c) { return kCharInfo[static_cast<unsigned char>(c)]; }
bool is_name_part(char c) { return info_of(c).in_name; }

bool is_keyword(std::string_view word) {
  for (std::size_t i = info_of(word[0]).keyword; i < kKeywords.size(); ++i) {
    if (kKeywords[i][0] != word[0]) return false;
    if (kKeywords[i] == word) return true;
  }
  return false;
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {
    tokens_.reserve(text_.size() / 3 + 8);
  }

  std::vector<Token> run() {
    if (text_.size() > kMaxSourceBytes) {
      fail({0, 0}, {"source text is too large", std::to_string(text_.size()) + " bytes",
                    "at most " + std::to_string(kMaxSourceBytes) + " bytes"});
    }
    while (at_ < text_.size()) {
      if (line_start_ && depth_ == 0) {
        indentation();
      } else {
        token();
      }
    }
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::newline) add(TokenKind::newline, at_);
    for (; indents_.size() > 1; indents_.pop_back()) add(TokenKind::dedent, at_);
    add(TokenKind::end, at_);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(Span span, const Diagnostic& diagnostic) const {
    throw CompileError(source_, span, diagnostic);
  }

  void add(TokenKind kind, std::uint32_t begin) {
    tokens_.push_back({kind, {begin, at_}, text_.substr(begin, at_ - begin)});
  }

  char peek(std::uint32_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_name() {
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void indentation() {
    const std::uint32_t begin = at_;
    std::uint32_t width = 0;
    for (; peek() == ' ' || peek() == '\t' || peek() == '\f'; ++at_) {
      width = peek() == '\t' ? (width / 8 + 1) * 8 : width + 1;
    }
    if (peek() == '#') skip_comment();
    if (peek() == '\r' && peek(1) == '\n') ++at_;
    if (at_ >= text_.size()) return;
    if (peek() == '\n') {
      ++at_;
      return;
    }
    line_start_ = false;
    if (indents_.empty()) indents_.push_back(width);
    if (width > indents_.back()) {
      if (indents_.size() >= kMaxIndentation) fail({begin, at_}, {"blocks are nested too deeply"});
      indents_.push_back(width);
      add(TokenKind::indent, at_);
      return;
    }
    while (width < indents_.back() && indents_.size() > 1) {
      indents_.pop_back();
      add(TokenKind::dedent, at_);
    }
    if (width != indents_.back()) {
      fail({begin, at_ + 1}, {"indentation does not match any outer block"});
    }
  }

  void token() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\f' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      skip_comment();
    } else if (c == '\n') {
      newline();
    } else if (c == '\\') {
      continuation();
    } else if (is_name_start(c)) {
      word();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '"' || c == '\'') {
      string(at_, TokenKind::string);
    } else {
      symbol();
    }
  }

  void newline() {
    if (depth_ == 0) {
      add(TokenKind::newline, at_);
      line_start_ = true;
    }
    ++at_;
  }

  void continuation() {
    const std::uint32_t begin = at_++;
    if (peek() == '\r') ++at_;
    if (peek() != '\n') fail({begin, begin + 1}, {"a backslash must end the line"});
    ++at_;
  }

  void word() {
    const std::uint32_t begin = at_;
    skip_name();
    const std::string_view text = text_.substr(begin, at_ - begin);
    if (peek() == '"' || peek() == '\'') {
      const bool prefix = text.size() <= 2 && std::all_of(text.begin(), text.end(), [](char c) {
                            return std::string_view("rRbBuUfF").find(c) != std::string_view::npos;
                          });
      if (prefix) {
        const bool formatted = text.find_first_of("fF") != std::string_view::npos;
        string(begin, formatted ? TokenKind::fstring : TokenKind::string);
        return;
      }
    }
    add(is_keyword(text) ? TokenKind::keyword : TokenKind::name, begin);
  }

  void digits(bool (*accepts)(char)) {
    while (accepts(peek()) || (peek() == '_' && accepts(peek(1)))) ++at_;
  }

  void number() {
    const std::uint32_t begin = at_;
    TokenKind kind = TokenKind::integer;
    const char base = static_cast<char>(peek() == '0' ? peek(1) | 0x20 : 0);
    if (base == 'x' || base == 'b' || base == 'o') {
      at_ += 2;
      digits(
          [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
    } else {
      digits(is_digit);
      if (peek() == '.') {
        kind = TokenKind::real;
        ++at_;
        digits(is_digit);
      }
      const std::uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
        kind = TokenKind::real;
        at_ += 1 + sign;
        digits(is_digit);
      }
    }
    if (is_name_part(peek())) {
      const std::uint32_t rest = at_;
      skip_name();
      fail({begin, at_},
           {"invalid number", shown(text_.substr(begin, at_ - begin)), "",
            text_.substr(rest, at_ - rest) == "j" ? "complex numbers are not supported" : ""});
    }
    add(kind, begin);
  }

  void string(std::uint32_t begin, TokenKind kind) {
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    const std::uint32_t content = at_;
    for (;; ++at_) {
      if (at_ >= text_.size() || (!triple && peek() == '\n')) {
        at_ = std::min(at_, static_cast<std::uint32_t>(text_.size()));
        fail({begin, begin + 1}, {"string is not closed"});
      }
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        ++at_;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        break;
      }
    }
    const std::uint32_t end = at_;
    at_ += triple ? 3 : 1;
    tokens_.push_back({kind, {begin, at_}, text_.substr(content, end - content)});
  }

  // Characters of the operator or delimiter that begins here; 0 if there is none.
  std::uint32_t symbol_length() const {
    const char c = peek();
    const char next = peek(1);
    switch (c) {
      case '*':
      case '/':
      case '<':
      case '>':
        if (next == c) return peek(2) == '=' ? 3 : 2;
        return next == '=' ? 2 : 1;
      case '-': return next == '=' || next == '>' ? 2 : 1;
      case '+':
      case '%':
      case '@':
      case '&':
      case '|':
      case '^':
      case ':':
      case '=': return next == '=' ? 2 : 1;
      case '!': return next == '=' ? 2 : 0;
      case '.': return next == '.' && peek(2) == '.' ? 3 : 1;
      case '~':
      case '(':
      case ')':
      case '[':
      case ']':
      case '{':
      case '}':
      case ',':
      case ';': return 1;
      default: return 0;
    }
  }

  void symbol() {
    const std::uint32_t begin = at_;
    const std::uint32_t length = symbol_length();
    if (length == 0)
      fail({begin, begin + 1}, {"unexpected character", shown(text_.substr(begin, 1))});
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    at_ += length;
    add(TokenKind::symbol, begin);
  }

  const Source& source_;
  std::string_view text_;
  std::uint32_t at_ = 0;
  int depth_ = 0;
  bool line_start_ = true;
  std::vector<std::uint32_t> indents_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Lexer(source).run(); }

}  // namespace causeway::lang
