// Text from files or users, made safe to print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// The text in double quotes, shortened, with bytes other than printable ASCII written as \x1b. A
// file's content can then neither flood the terminal nor send control sequences, and Python can
// always decode the message.
std::string shown(std::string_view text);

// The first names, and how many others there are: "a, b and 7 more".
std::string shown_list(const std::vector<std::string>& names);

// The text with control characters (except newlines and tabs), characters that change the direction
// of text, and bytes that are not UTF-8 written as \x1b.
std::string printable(std::string_view text);

// The text as one word of a shell command, quoted if necessary.
std::string shell_word(std::string_view text);

}  // namespace causeway
