#include "causeway/report/highlight.h"

#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace causeway::report {

namespace {

using Words = std::set<std::string_view>;

const Words kPythonKeywords{"and", "as",     "assert", "break", "class", "continue",
                            "def", "elif",   "else",   "False", "for",   "from",
                            "if",  "import", "in",     "is",    "not",   "None",
                            "or",  "pass",   "return", "True",  "while"};
const Words kPythonTypes{"array", "bool", "float", "int"};
const Words kCudaKeywords{
    "__device__", "__forceinline__", "__global__", "__restrict__", "__shared__", "asm",
    "break",      "const",           "constexpr",  "continue",     "do",         "else",
    "extern",     "false",           "for",        "if",           "inline",     "namespace",
    "operator",   "return",          "sizeof",     "static",       "struct",     "template",
    "true",       "typename",        "using",      "volatile",     "while"};
const Words kCudaTypes{"auto",   "bool",   "char",   "double",   "float", "float2",
                       "float3", "float4", "__half", "int",      "int2",  "int4",
                       "long",   "short",  "signed", "unsigned", "void"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// float32, vec3, mat44d, int64_t, quatf: the sized types of both languages.
bool is_sized_type(std::string_view word) {
  for (const std::string_view stem : {"float", "int", "uint", "vec", "mat", "quat"}) {
    if (!word.starts_with(stem)) continue;
    std::string_view rest = word.substr(stem.size());
    if (rest.ends_with("_t")) rest.remove_suffix(2);
    if (stem == "quat" && rest.size() <= 1) return true;
    if (!rest.empty() && is_digit(rest[0]) && rest.size() <= 5) return true;
  }
  return false;
}

class Highlighter {
 public:
  Highlighter(std::string_view text, CodeLanguage language)
      : text_(text), python_(language == CodeLanguage::python) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (rest().starts_with(python_ ? "#" : "//")) {
        take("hc", std::min(text_.find('\n', at_), text_.size()));
      } else if (!python_ && rest().starts_with("#")) {
        take("hk", std::min(text_.find('\n', at_), text_.size()));
      } else if (rest().starts_with("\"\"\"")) {
        take("hs", closed("\"\"\"", 3));
      } else if (text_[at_] == '"') {
        take("hs", closed("\"", 1));
      } else if (python_ && text_[at_] == '@') {
        take("hk", word_end(at_ + 1, true));
      } else if (is_digit(text_[at_])) {
        take("hn", number_end());
      } else if (is_word(text_[at_])) {
        word();
      } else {
        html_ += escaped(text_.substr(at_++, 1));
      }
    }
    return std::move(html_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void take(std::string_view style, std::size_t end) {
    const std::string part = escaped(text_.substr(at_, end - at_));
    html_ += style.empty() ? part : fmt::format("<span class=\"{}\">{}</span>", style, part);
    at_ = end;
  }

  // Behind the quotation mark that closes the one here, or at the end of the text.
  std::size_t closed(std::string_view mark, std::size_t length) const {
    const std::size_t end = text_.find(mark, at_ + length);
    return end == std::string_view::npos ? text_.size() : end + length;
  }

  std::size_t word_end(std::size_t at, bool dots) const {
    while (at < text_.size() && (is_word(text_[at]) || (dots && text_[at] == '.'))) ++at;
    return at;
  }

  std::size_t number_end() const {
    std::size_t end = at_;
    while (end < text_.size()) {
      const bool sign = (text_[end] == '-' || text_[end] == '+') &&
                        (text_[end - 1] == 'e' || text_[end - 1] == 'E') &&
                        !rest().starts_with("0x");
      if (!is_word(text_[end]) && text_[end] != '.' && !sign) break;
      ++end;
    }
    return end;
  }

  void word() {
    const std::size_t end = word_end(at_, false);
    const std::string_view word = text_.substr(at_, end - at_);
    const bool member = at_ > 0 && text_[at_ - 1] == '.';
    std::string_view style;
    if ((python_ ? kPythonKeywords : kCudaKeywords).contains(word)) {
      style = "hk";
    } else if ((python_ ? kPythonTypes : kCudaTypes).contains(word) || is_sized_type(word)) {
      style = "ht";
    } else if (end < text_.size() && text_[end] == '(' && (python_ || !member)) {
      style = "hf";
    }
    take(style, end);
  }

  std::string_view text_;
  bool python_;
  std::size_t at_ = 0;
  std::string html_;
};

}  // namespace

std::string highlighted(std::string_view text, CodeLanguage language) {
  return Highlighter(text, language).run();
}

std::string highlight_style() {
  return R"(
.hk { color: #a0267f; } .ht { color: #1b6f8f; } .hn { color: #9a4d00; } .hs { color: #3f7a2d; }
.hc { color: var(--soft); } .hf { color: #2f5fd0; }
@media (prefers-color-scheme: dark) { .hk { color: #ef8fd0; } .ht { color: #6fc7e6; }
  .hn { color: #f0b37a; } .hs { color: #9fd38a; } .hf { color: #8fb0ff; } }
)";
}

}  // namespace causeway::report
