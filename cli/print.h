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

// Prints an error as print_note does: "name: text" and a line end; the name is red on a terminal.
void print_error(std::string_view name, std::string_view text) noexcept;

// Prints results to stdout as they are; control characters are escaped if it is a terminal. Throws
// std::system_error if that fails.
void print_text(std::string_view text);

}  // namespace causeway::cli
