#include "causeway/core/shown.h"

#include <algorithm>

#include <fmt/format.h>

namespace causeway {

namespace {

// Whether a UTF-8 sequence of three bytes changes the direction of the text after it: U+202A to
// U+202E and U+2066 to U+2069.
bool turns_text(std::string_view three) {
  const auto last = static_cast<unsigned char>(three[2]);
  return (three.starts_with("\xe2\x80") && last >= 0xaa && last <= 0xae) ||
         (three.starts_with("\xe2\x81") && last >= 0xa6 && last <= 0xa9);
}

// The length of the UTF-8 sequence at the beginning of `text` if a terminal shows it; 0 if not.
// U+0080 to U+009F are control characters too.
std::size_t shown_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return (lead >= 0x20 && lead != 0x7f) || lead == '\n' || lead == '\t' ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (const char next : text.substr(1, length - 1)) {
    if ((static_cast<unsigned char>(next) & 0xc0) != 0x80) return 0;
  }
  const bool is_control = lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  return is_control || (length == 3 && turns_text(text)) ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = shown_length(text);
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "\"";
  for (const char letter : text.substr(0, kLongest)) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += fmt::format("\\{}", letter);
    } else if (code < 0x20 || code >= 0x7f) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += letter;
    }
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

std::string shown_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  const std::size_t n = std::min(names.size(), kMost);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n), ", "));
  if (names.size() > n) text += fmt::format(" and {} more", names.size() - n);
  return text;
}

std::string shell_word(std::string_view text) {
  const bool plain = text.find_first_of(" \"'$&|;<>()*?#~`\\\t\n") == std::string_view::npos;
  if (plain && !text.empty()) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace causeway
