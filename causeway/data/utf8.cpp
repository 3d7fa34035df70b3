#include "causeway/data/utf8.h"

#include <cstdint>
#include <cstring>

namespace causeway::data {

namespace {

// Bytes of the valid character at `at`; 0 if it is invalid. `end` is after the text.
std::size_t character_bytes(const unsigned char* at, const unsigned char* end) {
  if (*at < 0x80) return 1;
  const std::ptrdiff_t more = *at >= 0xf0 && *at <= 0xf4  ? 3
                              : *at >= 0xe0 && *at < 0xf0 ? 2
                              : *at >= 0xc2 && *at < 0xe0 ? 1
                                                          : -1;
  if (more < 0 || end - at <= more) return 0;
  for (std::ptrdiff_t i = 1; i <= more; ++i) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  // Overlong encodings, surrogates, and code points beyond U+10FFFF.
  if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
      (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f)) {
    return 0;
  }
  return static_cast<std::size_t>(more) + 1;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = begin + text.size();
  const auto* at = begin;
  while (at < end) {
    std::uint64_t eight = 0;
    if (end - at >= 8) {
      std::memcpy(&eight, at, 8);
      if ((eight & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const std::size_t bytes = character_bytes(at, end);
    if (bytes == 0) break;
    at += bytes;
  }
  return static_cast<std::size_t>(at - begin);
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&](int shift) { add(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) return add(code_point);
  if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
    return tail(0);
  }
  if (code_point < 0x10000) {
    add(0xe0 | code_point >> 12);
  } else {
    add(0xf0 | code_point >> 18);
    tail(12);
  }
  tail(6);
  tail(0);
}

}  // namespace causeway::data
