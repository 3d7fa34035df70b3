// The one typed table: named columns that borrow memory from wherever they come from (a CSV file,
// Arrow, NumPy, a tensor), or a matrix whose columns are read one by one. Numbers may lie on any
// device, text on the CPU.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::tables {

// Strings one after the other: string i is bytes[offsets[i], offsets[i + 1]).
struct Text {
  const char* bytes = nullptr;
  const std::int64_t* offsets = nullptr;  // one more than there are strings
  std::shared_ptr<void> owner;            // keeps both alive

  std::string_view at(std::int64_t i) const {
    return {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  }
  static Text from(std::string bytes, std::vector<std::int64_t> offsets);
  static Text from(const std::vector<std::string>& strings);
};

enum class ValueType { number, text, time, category };

struct TableColumn {
  std::string name;
  ValueType type = ValueType::number;
  // (n_rows): numbers of any dtype, booleans among them; for time, i64 since 1970 in units of a
  // second; for category, the codes: places in `categories`, any integer dtype.
  Tensor numbers;
  std::int64_t units_per_second = 1;  // 1, 1000, 10^6 or 10^9, for time
  Text text;                          // one string per row, for text
  Text categories;                    // the names of the categories
  std::int64_t n_categories = 0;
  bool ordered = false;  // whether the categories were declared as ordered
  Tensor missing;        // (n_rows) bool; empty if nothing is missing
};

class Table {
 public:
  Table() = default;
  // A matrix (n_rows, n_columns) of any dtype and strides; names may be empty: "0", "1", …
  explicit Table(const Tensor& matrix, std::vector<std::string> names = {});
  explicit Table(std::vector<TableColumn> columns, std::int64_t n_rows);

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return static_cast<std::int64_t>(columns_.size()); }
  const std::vector<TableColumn>& columns() const { return columns_; }
  const TableColumn& column(std::int64_t at) const {
    return columns_[static_cast<std::size_t>(at)];
  }
  std::vector<std::string> names() const;
  // The position of the column with that name; -1 if there is none.
  std::int64_t find(std::string_view name) const;
  // The matrix of the columns; empty for a table of separate columns.
  const Tensor& matrix() const { return matrix_; }
  bool is_matrix() const { return is_matrix_; }
  // The device all numbers are on; throws where they are on several.
  Device device() const;

 private:
  std::vector<TableColumn> columns_;
  Tensor matrix_;
  std::int64_t n_rows_ = 0;
  bool is_matrix_ = false;
};

// `table` itself, or where it has category columns `room`: the same table with those as text.
const Table& categories_as_text(const Table& table, Table& room);

}  // namespace causeway::tables
