// CSV syntax and cell values: record and field boundaries, parsing of fields.
#pragma once

#include "causeway/data/input_check.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

enum class CsvType { number, boolean, time, text };

namespace csv {

struct Layout {
  data::Origin origin;
  char delimiter = ',';
  std::vector<std::string> missing;
  std::array<bool, 256> missing_starts{};  // by first byte: most cells need no lookup in the list
  std::vector<std::string> names;
  std::vector<CsvType> types;
};

// A position in the file, counted from 1, and the problem there.
struct CsvError {
  std::int64_t line = 0;
  std::int64_t column = 0;  // 0: the whole line
  std::string message;
};

// Throws `"file": line 7, column 3 "age": message`.
[[noreturn]] void fail_at(const Layout& layout, const CsvError& error);

// Reads the fields of consecutive records.
class FieldReader {
 public:
  FieldReader(std::string_view text, char delimiter, std::int64_t line)
      : text_(text), delimiter_(delimiter), line_(line) {
    for (const char stop : {delimiter, '\n', '"'}) stops_[static_cast<unsigned char>(stop)] = true;
  }

  bool at_end() const { return at_ >= text_.size(); }
  std::size_t position() const { return at_; }
  std::int64_t line() const { return line_; }  // line number of the next field

  // The next field without quotes, valid until the next call. Returns false and sets `problem` if
  // it is malformed. `last` is true for the last field of a record.
  bool next(std::string_view& field, bool& last, std::string& problem);
  // Skips an empty line; returns whether there was one.
  bool skip_empty_line();

 private:
  bool next_quoted(std::string_view& field, bool& last, std::string& problem);
  bool finish(std::size_t end, bool& last);

  std::string_view text_;
  char delimiter_;
  std::int64_t line_;
  std::size_t at_ = 0;
  std::string unquoted_;
  std::array<bool, 256> stops_{};  // bytes that may end a field
};

// Comma, semicolon or tab: the one that the first two records have equally often, and most often.
char find_delimiter(std::string_view text);

// Parse a trimmed field; return false if it has another type.
bool parse_number(std::string_view text, double& value);
bool parse_boolean(std::string_view text, bool& value);
// 2026-01-31, 2026-01-31T12:00, 2026-01-31 12:00:00.25Z; microseconds since 1970.
bool parse_time(std::string_view text, std::int64_t& microseconds);
std::string_view trimmed(std::string_view text);
void set_missing(Layout& layout, std::vector<std::string> words);
bool is_missing(const Layout& layout, std::string_view trimmed_field);

// The end of the record that contains text[from], after its line end. `quoted`: `from` is inside
// quotes.
std::size_t record_end(std::string_view text, std::size_t from, bool quoted);

}  // namespace csv
}  // namespace causeway
