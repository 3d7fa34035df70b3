// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// The name with the fewest edits to `text`, letters of either case alike; empty where none is near.
std::string nearest_name(std::string_view text, const std::vector<std::string>& names);

}  // namespace causeway
