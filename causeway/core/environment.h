// Settings read from environment variables, and byte counts as people write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace causeway {

// The variable's value, or nothing where it is unset or empty.
std::optional<std::string> environment(const char* name);

// "4096", "512 MiB", "2GiB", "1.5g" to bytes; throws invalid_argument naming `what`.
std::size_t parse_bytes(std::string_view what, std::string_view text);

// 1536 to "1.5 KiB".
std::string format_bytes(std::size_t bytes);

}  // namespace causeway
