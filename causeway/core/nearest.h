// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// The name with the fewest edits to `text`, ignoring case; empty if none is close.
std::string nearest_name(std::string_view text, const std::vector<std::string>& names);

}  // namespace causeway
