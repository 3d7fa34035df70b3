#include "causeway/lang/ir/scanner.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace causeway::lang {

namespace {

constexpr std::size_t kMaxTextBytes = 4 << 20;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

IrScanner::IrScanner(std::shared_ptr<const Source> source)
    : source_(std::move(source)), text_(source_->text()) {
  if (text_.size() > kMaxTextBytes) fail("text is too large");
}

void IrScanner::fail(const std::string& what) const {
  const auto at = static_cast<std::uint32_t>(at_);
  throw CompileError(*source_, {at, at + 1}, {"invalid IR: " + what});
}

void IrScanner::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

std::size_t IrScanner::position() {
  skip_space();
  return at_;
}

bool IrScanner::at_end() { return position() == text_.size(); }

char IrScanner::peek() { return at_end() ? '\0' : text_[at_]; }

bool IrScanner::accept(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

bool IrScanner::accept_word(std::string_view word) {
  skip_space();
  if (text_.substr(at_, word.size()) != word) return false;
  if (at_ + word.size() < text_.size() && is_word(text_[at_ + word.size()])) return false;
  at_ += word.size();
  return true;
}

void IrScanner::expect(char c) {
  if (!accept(c)) fail(std::string("expected \"") + c + "\"");
}

std::string_view IrScanner::name() {
  const std::size_t begin = position();
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (begin == at_) fail("expected a name");
  return text_.substr(begin, at_ - begin);
}

std::string_view IrScanner::value_name() {
  expect('%');
  const std::size_t begin = at_;
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || text_[at_] == '\''))
    ++at_;
  if (begin == at_) fail("expected a value's name");
  return text_.substr(begin, at_ - begin);
}

std::string_view IrScanner::quoted() {
  expect('"');
  const std::size_t begin = at_;
  const std::size_t end = text_.find('"', at_);
  if (end == std::string_view::npos) fail("string is not closed");
  at_ = end + 1;
  return text_.substr(begin, end - begin);
}

std::int64_t IrScanner::integer() {
  skip_space();
  std::int64_t value = 0;
  const auto done = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (done.ec != std::errc()) fail("expected an integer");
  at_ = static_cast<std::size_t>(done.ptr - text_.data());
  return value;
}

std::string_view IrScanner::number_from(std::size_t begin) {
  while (at_ < text_.size() &&
         (is_word(text_[at_]) || text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-'))
    ++at_;
  return text_.substr(begin, at_ - begin);
}

}  // namespace causeway::lang
