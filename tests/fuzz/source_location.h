// Stands in for std::source_location, for which clang 14, the fuzzers' compiler on Debian 12, lacks
// the intrinsic that libstdc++ wants. Empty with any newer compiler.
#pragma once

#include <source_location>

#if !defined(__cpp_lib_source_location)
#include <cstdint>

namespace std {

struct source_location {
  static constexpr source_location current(const char* file = __builtin_FILE(),
                                           const char* function = __builtin_FUNCTION(),
                                           std::uint_least32_t line = __builtin_LINE()) {
    return {file, function, line};
  }
  constexpr const char* file_name() const { return file; }
  constexpr const char* function_name() const { return function; }
  constexpr std::uint_least32_t line() const { return line_number; }
  constexpr std::uint_least32_t column() const { return 0; }

  const char* file = "";
  const char* function = "";
  std::uint_least32_t line_number = 0;
};

}  // namespace std
#endif
