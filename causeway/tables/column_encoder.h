// How one column becomes numbers: what it held in the context rows decides how cells are read.
#pragma once

#include "causeway/tables/cells.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace causeway::tables {

enum class ColumnKind {
  empty,     // no value in any context row: always missing, whatever a query row has
  number,    // the number itself
  boolean,   // 0 or 1
  time,      // microseconds since 1970; month, day, weekday and hour
  category,  // its place among the sorted categories
  text,      // hashed n-grams: see text_features.h
};

class ColumnEncoder {
 public:
  // Learns from some rows. A column of text is read as cells of a CSV file are: as numbers where
  // every value is a number, else as booleans, else as times, else as categories; as free text
  // where more than half of the values differ and there are at least 20 different ones.
  ColumnEncoder(const TableColumn& column, std::int64_t n_rows, std::span<const std::int64_t> rows);
  ColumnEncoder(std::string name, ColumnKind kind, std::vector<std::string> categories);

  const std::string& name() const { return name_; }
  ColumnKind kind() const { return kind_; }
  const std::vector<std::string>& categories() const { return categories_; }
  // The number of numbers that the column becomes.
  std::int64_t n_features() const;

  // Writes each row's n_features() numbers to out, out + stride, …; NaN where missing. `operation`
  // begins error messages. Unseen categories are missing, with a warning.
  void encode(const TableColumn& column, std::int64_t n_rows, std::span<const std::int64_t> rows,
              double* out, std::int64_t stride, const char* operation,
              std::vector<std::string>& warnings) const;

 private:
  void index_categories();
  // Writes the numbers of a cell that is not missing; false if it is an unseen category.
  bool encode_cell(const Cells& cells, std::int64_t row, const char* operation, double* out) const;
  // The value of a cell that is not missing; nothing where it is an unseen category.
  std::optional<double> value(const Cells& cells, std::int64_t row, const char* operation) const;
  std::optional<double> category(const Cells& cells, std::int64_t row) const;
  [[noreturn]] void refuse(const char* operation, std::int64_t row, const std::string& got) const;

  std::string name_;
  ColumnKind kind_ = ColumnKind::empty;
  std::vector<std::string> categories_;
  // Codes by name, and by what a name spells, for sources that give the same value another type.
  std::map<std::string, double, std::less<>> by_name_;
  std::map<double, double> by_number_;
  std::map<bool, double> by_truth_;
  std::map<std::int64_t, double> by_time_;
};

// Names as they stand in JSON: "empty", "number", …
const char* to_string(ColumnKind kind);
ColumnKind parse_column_kind(const std::string& name);

}  // namespace causeway::tables
