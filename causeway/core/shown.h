// Foreign text made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace causeway {

// The text in double quotes, shortened, what is not printable ASCII written as \x1b: a file's
// content neither floods the terminal nor commands it, and Python can always decode the message.
std::string shown(std::string_view text);

}  // namespace causeway
