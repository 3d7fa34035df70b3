#include "causeway/core/count.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace causeway {

namespace {

// 0 if it is no unit.
double scale_of(std::string_view unit) {
  if (unit.empty()) return 1;
  std::string lower;
  for (const char c : unit) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const std::size_t power = std::string_view("kmgt").find(lower[0]);
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = std::string_view(lower).substr(1);
  const double base = rest.empty() || rest == "b" ? 1000 : rest == "ib" ? 1024 : 0;
  return base == 0 ? 0 : std::pow(base, static_cast<double>(power + 1));
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto [stop, problem] = std::from_chars(text.data(), end, whole);
  if (problem == std::errc() && stop == end) return whole;
  double number = 0;
  const auto [unit, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const double scale = scale_of({unit, static_cast<std::size_t>(end - unit)});
  // 1.1k is not exactly 1100 in binary.
  const double value = std::round(number * scale);
  const bool is_whole = std::fabs(number * scale - value) <= 1e-9 * std::fabs(value);
  if (scale <= 1 || !is_whole || !(std::fabs(value) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace causeway
