// The scanner of IR text: names, numbers, strings and punctuation, without lookahead tokens.
#pragma once

#include "causeway/lang/source.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace causeway::lang {

// All functions skip whitespace first. Those that expect something throw CompileError.
class IrScanner {
 public:
  explicit IrScanner(std::shared_ptr<const Source> source);

  const std::shared_ptr<const Source>& source() const { return source_; }
  // Throws CompileError at the current position.
  [[noreturn]] void fail(const std::string& what) const;

  bool at_end();
  char peek();  // '\0' at the end
  bool accept(char c);
  bool accept_word(std::string_view word);
  void expect(char c);
  std::string_view name();
  // The name after "%", which may have dots and a quote with a number.
  std::string_view value_name();
  std::string_view quoted();
  std::int64_t integer();

  std::size_t position();
  // The text from `begin` to the end of the number at the current position.
  std::string_view number_from(std::size_t begin);

 private:
  void skip_space();

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace causeway::lang
