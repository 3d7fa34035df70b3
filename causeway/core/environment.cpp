#include "causeway/core/environment.h"

#include "causeway/core/error.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace causeway {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::size_t parse_bytes(std::string_view what, std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  while (std::isspace(static_cast<unsigned char>(*end))) ++end;
  std::string unit(end);
  for (char& letter : unit)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  if (unit == "k" || unit == "kib") scale = 1024.0;
  if (unit == "m" || unit == "mib") scale = 1024.0 * 1024;
  if (unit == "g" || unit == "gib") scale = 1024.0 * 1024 * 1024;
  if (unit == "t" || unit == "tib") scale = 1024.0 * 1024 * 1024 * 1024;
  const double bytes = number * scale;
  if (end == copy.c_str() || scale == 0 || !(bytes >= 0) || bytes > 9e18) {
    fail(ErrorKind::invalid_argument, what,
         fmt::format("\"{}\" is not a number of bytes; expected a form like 4096, 512MiB or 2GiB",
                     text));
  }
  return static_cast<std::size_t>(bytes);
}

std::string format_bytes(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace causeway
