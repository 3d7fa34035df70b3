// UTF-8: validation and code points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace causeway::data {

// The length of the longest valid UTF-8 prefix; text.size() if all of it is valid. Overlong
// encodings, surrogates and code points above U+10FFFF are invalid.
std::size_t valid_utf8_prefix(std::string_view text);

inline bool is_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

// The code point at `at` of a valid text, and the number of its bytes.
struct CodePoint {
  char32_t value;
  std::size_t n_bytes;
};
inline CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0) {
    return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  }
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f),
          4};
}

// The start of the character that ends before `at`, which is above 0, of a valid text.
inline std::size_t previous_code_point(std::string_view text, std::size_t at) {
  do {
    --at;
  } while ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
  return at;
}

void append_utf8(std::string& text, char32_t code_point);

}  // namespace causeway::data
