// The cells of one column on the host, and the values that text spells.
#pragma once

#include "causeway/tables/table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::tables {

// Reads one column row by row, whatever its type, dtype and device. Text and categories are read as
// text. NaN is missing in a column of numbers.
class Cells {
 public:
  Cells(const TableColumn& column, std::int64_t n_rows);

  ValueType type() const { return column_.type; }
  bool is_text() const { return type() == ValueType::text || type() == ValueType::category; }
  bool is_boolean() const { return is_boolean_; }
  bool is_missing(std::int64_t row) const;
  double number(std::int64_t row) const { return numbers_[static_cast<std::size_t>(row)]; }
  // Microseconds since 1970, rounded down.
  std::int64_t time(std::int64_t row) const { return integers_[static_cast<std::size_t>(row)]; }
  std::string_view text(std::int64_t row) const;
  // The value of any type as text: "5" for 5.0, "True", "2026-01-31T12:00:00".
  std::string shown_value(std::int64_t row) const;

 private:
  const TableColumn& column_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> integers_;  // times, or codes of categories
  std::vector<bool> missing_;
  bool is_boolean_ = false;
};

// The number that text spells, spaces around it aside; likewise true or false, and ISO times in
// microseconds since 1970.
std::optional<double> number_of(std::string_view text);
std::optional<bool> truth_of(std::string_view text);
std::optional<std::int64_t> time_of(std::string_view text);

// The shortest text that reads back as the same double; integers without a decimal point.
std::string text_of_number(double value);
// 2026-01-31, or 2026-01-31T12:00:00.25 where the time of day is not midnight.
std::string text_of_time(std::int64_t microseconds);

// Sorts names of categories or classes: by value where every name is a number, else by bytes.
void sort_names(std::vector<std::string>& names);

}  // namespace causeway::tables
