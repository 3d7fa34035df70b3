#include "causeway/pairs/json_text.h"

#include <cmath>

namespace causeway::pairs {

JsonText& JsonText::string(std::string_view value) {
  separate();
  text_ += '"';
  std::size_t begin = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) continue;
    text_.append(value, begin, i - begin);
    begin = i + 1;
    switch (c) {
      case '"': text_ += "\\\""; break;
      case '\\': text_ += "\\\\"; break;
      case '\n': text_ += "\\n"; break;
      case '\t': text_ += "\\t"; break;
      default: fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<int>(c)); break;
    }
  }
  text_.append(value, begin, value.size() - begin);
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
