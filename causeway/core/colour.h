// Whether output may be coloured, and text in a colour.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace causeway {

// Whether `stream` is a terminal that shows colours. Not if NO_COLOR is set to a text that is not
// empty (no-color.org), or TERM is "dumb".
bool shows_colours(std::FILE* stream);

enum class Style { bold, error };

// `text` with the escape codes of the style if the stream shows colours.
std::string styled(std::FILE* stream, Style style, std::string_view text);

}  // namespace causeway
