// Syntax highlighting of source text.
#pragma once

#include <string>
#include <string_view>

namespace causeway::report {

enum class CodeLanguage : unsigned char { python, cuda };

// HTML of the text: keywords, types, numbers, strings, comments and called functions are spans of
// the classes hk, ht, hn, hs, hc and hf. Everything else is escaped text.
std::string highlighted(std::string_view text, CodeLanguage language);

// The rules of these classes.
std::string highlight_style();

}  // namespace causeway::report
