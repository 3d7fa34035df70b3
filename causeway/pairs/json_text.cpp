#include "causeway/pairs/json_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

namespace causeway::pairs {

namespace {

// The first character from `at` on that JSON escapes; the end if there is none. Eight characters at
// a time: a byte that is below 32, a quote or a backslash sets its highest bit.
std::size_t next_escaped(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x80 * kOnes;
  static_assert(std::endian::native == std::endian::little);
  const auto below = [](std::uint64_t word, std::uint64_t limit) {
    return (word - limit * kOnes) & ~word & kHighs;
  };
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t found =
        below(word, 0x20) | below(word ^ kOnes * '"', 1) | below(word ^ kOnes * '\\', 1);
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  const auto escaped = [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  };
  while (at < text.size() && !escaped(text[at])) ++at;
  return at;
}

}  // namespace

JsonText& JsonText::string(std::string_view value) {
  separate();
  text_ += '"';
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = next_escaped(value, begin);
    text_.append(value, begin, end - begin);
    if (end == value.size()) break;
    const char c = value[end];
    switch (c) {
      case '"': text_ += "\\\""; break;
      case '\\': text_ += "\\\\"; break;
      case '\n': text_ += "\\n"; break;
      case '\t': text_ += "\\t"; break;
      default: fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<int>(c)); break;
    }
    begin = end + 1;
  }
  text_ += '"';
  return *this;
}

JsonText& JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

}  // namespace causeway::pairs
