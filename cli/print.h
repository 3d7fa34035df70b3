// Printing text that came from files or models.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace causeway::cli {

// Prints to stderr, with control characters escaped. Errors are ignored: a closed pipe or a full
// disk must not end the command.
void print_note(std::string_view text) noexcept;

template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  print_note(fmt::format(format, std::forward<Args>(args)...));
}

// Prints results to stdout as they are; control characters are escaped if it is a terminal. Throws
// std::system_error if that fails.
void print_text(std::string_view text);

}  // namespace causeway::cli
