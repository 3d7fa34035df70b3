#include "causeway/tokenizer/table.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

namespace causeway::tokenizer {

Table::Table(const Tensor& matrix, std::vector<std::string> names)
    : matrix_(matrix), is_matrix_(true) {
  if (matrix.n_dims() != 2) {
    fail(ErrorKind::shape_mismatch, "tokenizer",
         fmt::format("expected a matrix (rows, columns), got shape {}; reshape it",
                     to_string(matrix.shape())));
  }
  n_rows_ = matrix.size(0);
  const std::int64_t n_columns = matrix.size(1);
  if (names.empty()) {
    for (std::int64_t i = 0; i < n_columns; ++i) names.push_back(std::to_string(i));
  }
  if (static_cast<std::int64_t>(names.size()) != n_columns) {
    fail(ErrorKind::shape_mismatch, "tokenizer",
         fmt::format("{} names for {} columns", names.size(), n_columns));
  }
  for (std::int64_t i = 0; i < n_columns; ++i) {
    TableColumn column;
    column.name = std::move(names[static_cast<std::size_t>(i)]);
    column.numbers = matrix.select(1, i);
    columns_.push_back(std::move(column));
  }
}

Table::Table(std::vector<TableColumn> columns, std::int64_t n_rows)
    : columns_(std::move(columns)), n_rows_(n_rows) {
  for (const TableColumn& column : columns_) {
    if (column.type == ValueType::text) continue;
    if (column.numbers.n_dims() != 1 || column.numbers.size(0) != n_rows) {
      fail(ErrorKind::shape_mismatch, "tokenizer",
           fmt::format("column \"{}\": expected {} values, got shape {}", column.name, n_rows,
                       to_string(column.numbers.shape())));
    }
  }
}

std::int64_t Table::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return static_cast<std::int64_t>(i);
  }
  return -1;
}

Device Table::device() const {
  if (is_matrix_) return matrix_.device();
  const TableColumn* first = nullptr;
  bool has_text = false;
  for (const TableColumn& column : columns_) {
    if (column.type == ValueType::text) {
      has_text = true;
    } else if (first == nullptr) {
      first = &column;
    } else if (column.numbers.device() != first->numbers.device()) {
      fail(ErrorKind::device, "tokenizer",
           fmt::format("column \"{}\" is on {} and column \"{}\" on {}; move them to one device",
                       first->name, to_string(first->numbers.device()), column.name,
                       to_string(column.numbers.device())));
    }
  }
  return first == nullptr || has_text ? Device::cpu() : first->numbers.device();
}

}  // namespace causeway::tokenizer
