// Kernel text, source locations, and compile errors.
#pragma once

#include "causeway/core/error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::lang {

// A half-open range of bytes of a source text.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Position {
  int line = 0;    // from 1
  int column = 0;  // from 1, in bytes
};

// A named text. Names and tokens of a module are views into it, so a module keeps its source alive.
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;
  Position position(std::uint32_t offset) const;
  std::string_view line(int number) const;  // without its line break

 private:
  std::string name_;
  std::string text_;
};

// The content of an error message. `found`, `expected` and `hint` may be empty.
struct Diagnostic {
  std::string message;
  std::string found = {};
  std::string expected = {};
  std::string hint = {};
};

// An error in the kernel text. what() is
//   file:line:column: error: message
//     source line
//         ^~~~
//     found: …
//     expected: …
//     hint: …
class CompileError : public Error {
 public:
  CompileError(const Source& source, Span span, const Diagnostic& diagnostic);

  const std::string& file() const { return file_; }
  int line() const { return position_.line; }
  int column() const { return position_.column; }
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  std::string file_;
  Position position_;
  Diagnostic diagnostic_;
};

// The candidate with the smallest edit distance to `name`, empty if none is close.
std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates);

}  // namespace causeway::lang
