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

// Where lines of a text come from, if it was put together from several files.
struct Origin {
  int first_line = 1;  // of the text: this line and those up to the next origin
  std::string file;
  int line = 1;    // of the file, where first_line is from
  int indent = 0;  // columns that were cut off on the left
};

// A position in a file of the user's.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

// A named text. Names and tokens of a module are views into it, so a module keeps its source alive.
class Source {
 public:
  // `origins` are in the order of their lines; without any, the text is the file `name`.
  Source(std::string name, std::string text, std::vector<Origin> origins = {});

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;
  Position position(std::uint32_t offset) const;
  Place place(std::uint32_t offset) const;
  std::string_view line(int number) const;  // without its line break

 private:
  std::string name_;
  std::string text_;
  std::vector<Origin> origins_;
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

  const std::string& file() const { return place_.file; }
  int line() const { return place_.line; }
  int column() const { return place_.column; }
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Place place_;
  Diagnostic diagnostic_;
};

// The candidate with the smallest edit distance to `name`, empty if none is close.
std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates);

}  // namespace causeway::lang
