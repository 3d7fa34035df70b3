// A parser of the Python literals in .npy headers: strings, True and False, tuples of sizes. No
// recursion and no allocation, for any input.
#pragma once

#include "causeway/data/input_check.h"

#include <cstdint>
#include <string_view>

namespace causeway::data {

class PythonLiteral {
 public:
  // Both must outlive the parser; format errors name the byte offset within `text`.
  PythonLiteral(const Origin& origin, std::string_view text) : origin_(origin), text_(text) {}

  // Each function skips white space first.
  bool take(char letter);  // returns whether it was there
  void expect(char letter);
  void expect_end();
  // A string without escapes, in single or double quotes; `expected` describes it in error
  // messages.
  std::string_view string(std::string_view expected);
  bool boolean();
  // A tuple of at most kMaxDims non-negative sizes.
  Shape shape();

 private:
  bool take_word(std::string_view word);
  std::int64_t size();
  void skip_spaces();
  [[noreturn]] void fail_expecting(std::string_view expected) const;

  const Origin& origin_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace causeway::data
