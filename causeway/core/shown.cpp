#include "causeway/core/shown.h"

#include <fmt/format.h>

namespace causeway {

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

}  // namespace causeway
