#include "causeway/data/python_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace causeway::data {

void PythonLiteral::skip_spaces() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size());
}

bool PythonLiteral::take(char letter) {
  skip_spaces();
  if (at_ == text_.size() || text_[at_] != letter) return false;
  ++at_;
  return true;
}

void PythonLiteral::expect(char letter) {
  if (!take(letter)) fail_expecting(fmt::format("'{}'", letter));
}

void PythonLiteral::expect_end() {
  skip_spaces();
  if (at_ != text_.size()) fail_expecting("only whitespace after the dictionary");
}

std::string_view PythonLiteral::string(std::string_view expected) {
  const char quote = take('\'') ? '\'' : '"';
  if (quote == '"' && !take('"')) fail_expecting(expected);
  const std::size_t end = text_.find(quote, at_);
  if (end == std::string_view::npos) fail_expecting("a closing quote");
  const std::string_view content = text_.substr(at_, end - at_);
  if (content.find('\\') != std::string_view::npos) fail_expecting("a string without escapes");
  at_ = end + 1;
  return content;
}

bool PythonLiteral::take_word(std::string_view word) {
  skip_spaces();
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

bool PythonLiteral::boolean() {
  if (take_word("True")) return true;
  if (take_word("False")) return false;
  fail_expecting("True or False");
}

std::int64_t PythonLiteral::size() {
  skip_spaces();
  std::int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail_expecting("a size of at most 63 bits");
  if (error != std::errc() || value < 0) fail_expecting("a non-negative size");
  at_ += static_cast<std::size_t>(end - begin);
  if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote (2L, 3L)
  return value;
}

Shape PythonLiteral::shape() {
  Shape shape;
  if (!take('(')) fail_expecting("a tuple of sizes");
  bool comma = true;
  while (!take(')')) {
    if (!comma) fail_expecting("',' or ')'");
    if (shape.size() == kMaxDims) fail_expecting(fmt::format("at most {} dimensions", kMaxDims));
    shape.push_back(size());
    comma = take(',');
  }
  // (3) is an integer in Python; the tuple is (3,).
  if (shape.size() == 1 && !comma) fail_expecting("a tuple such as (3,)");
  return shape;
}

void PythonLiteral::fail_expecting(std::string_view expected) const {
  origin_.fail_format(at_ == text_.size()
                          ? fmt::format("expected {} in the header, which ends there", expected)
                          : fmt::format("expected {} at byte {} of the header, got {}", expected,
                                        at_, shown(text_.substr(at_, 20))));
}

}  // namespace causeway::data
