// Environment variables, and byte counts in human-readable form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace causeway {

// The variable's value; nullopt if it is unset or empty.
std::optional<std::string> environment(const char* name);

// Parses "4096", "512 MiB", "2GiB", "1.5g" as bytes; throws invalid_argument naming `what`.
std::size_t parse_bytes(std::string_view what, std::string_view text);

// Formats 1536 as "1.5 KiB".
std::string format_bytes(std::size_t bytes);

}  // namespace causeway
