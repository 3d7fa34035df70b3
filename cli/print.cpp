#include "cli/print.h"

#include "causeway/core/colour.h"
#include "causeway/core/shown.h"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace causeway::cli {

void print_note(std::string_view text) noexcept {
  try {
    const std::string safe = printable(text);
    std::fwrite(safe.data(), 1, safe.size(), stderr);
  } catch (...) {  // out of memory
  }
}

void print_error(std::string_view name, std::string_view text) noexcept {
  try {
    const std::string line = styled(stderr, Style::error, fmt::format("{}:", name)) +
                             printable(fmt::format(" {}\n", text));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // out of memory
  }
}

void print_text(std::string_view text) {
  static const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  fmt::print("{}", is_terminal ? printable(text) : std::string(text));
}

}  // namespace causeway::cli
