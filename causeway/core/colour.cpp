#include "causeway/core/colour.h"

#include "causeway/core/environment.h"

#include <unistd.h>

#include <fmt/format.h>

namespace causeway {

bool shows_colours(std::FILE* stream) {
  if (environment("NO_COLOR").has_value()) return false;
  if (environment("TERM").value_or("dumb") == "dumb") return false;
  return isatty(fileno(stream)) != 0;
}

std::string styled(std::FILE* stream, Style style, std::string_view text) {
  if (!shows_colours(stream)) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", style == Style::bold ? "1" : "1;31", text);
}

}  // namespace causeway
