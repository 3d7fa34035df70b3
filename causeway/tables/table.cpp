#include "causeway/tables/table.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::tables {

namespace {

struct Strings {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
};

// The code of a category column's row; -1 where it is missing or names no category.
std::int64_t code_at(const TableColumn& column, const std::vector<std::int64_t>& codes,
                     const std::vector<bool>& missing, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  if (!missing.empty() && missing[at]) return -1;
  return codes[at] < column.n_categories ? codes[at] : -1;
}

TableColumn category_as_text(const TableColumn& from, std::int64_t n_rows) {
  const auto codes = from.numbers.to(DType::i64).to_vector<std::int64_t>();
  const auto missing =
      from.missing.numel() > 0 ? from.missing.to_vector<bool>() : std::vector<bool>();
  Strings strings;
  Tensor marks = Tensor::empty({n_rows}, DType::boolean);
  bool any = false;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::int64_t code = code_at(from, codes, missing, row);
    marks.data_as<bool>()[row] = code < 0;
    any = any || code < 0;
    if (code >= 0) strings.bytes += from.categories.at(code);
    strings.offsets.push_back(static_cast<std::int64_t>(strings.bytes.size()));
  }
  TableColumn column;
  column.name = from.name;
  column.type = ValueType::text;
  column.text = Text::from(std::move(strings.bytes), std::move(strings.offsets));
  if (any) column.missing = marks;
  return column;
}

}  // namespace

Text Text::from(std::string bytes, std::vector<std::int64_t> offsets) {
  const auto held = std::make_shared<Strings>(Strings{std::move(bytes), std::move(offsets)});
  return {held->bytes.data(), held->offsets.data(), held};
}

Text Text::from(const std::vector<std::string>& strings) {
  Strings joined;
  for (const std::string& text : strings) {
    joined.bytes += text;
    joined.offsets.push_back(static_cast<std::int64_t>(joined.bytes.size()));
  }
  return from(std::move(joined.bytes), std::move(joined.offsets));
}

Table::Table(const Tensor& matrix, std::vector<std::string> names)
    : matrix_(matrix), is_matrix_(true) {
  if (matrix.n_dims() != 2) {
    fail(ErrorKind::shape_mismatch, "table",
         fmt::format("expected a matrix (rows, columns), got shape {}; reshape it",
                     to_string(matrix.shape())));
  }
  n_rows_ = matrix.size(0);
  const std::int64_t n_columns = matrix.size(1);
  if (names.empty()) {
    for (std::int64_t i = 0; i < n_columns; ++i) names.push_back(std::to_string(i));
  }
  if (static_cast<std::int64_t>(names.size()) != n_columns) {
    fail(ErrorKind::shape_mismatch, "table",
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
      fail(ErrorKind::shape_mismatch, "table",
           fmt::format("column \"{}\": expected {} values, got shape {}", column.name, n_rows,
                       to_string(column.numbers.shape())));
    }
  }
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> names;
  for (const TableColumn& column : columns_) names.push_back(column.name);
  return names;
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
      fail(ErrorKind::device, "table",
           fmt::format("column \"{}\" is on {} and column \"{}\" on {}; move them to one device",
                       first->name, to_string(first->numbers.device()), column.name,
                       to_string(column.numbers.device())));
    }
  }
  return first == nullptr || has_text ? Device::cpu() : first->numbers.device();
}

const Table& categories_as_text(const Table& table, Table& room) {
  const auto is_category = [](const TableColumn& column) {
    return column.type == ValueType::category;
  };
  if (std::none_of(table.columns().begin(), table.columns().end(), is_category)) return table;
  std::vector<TableColumn> columns = table.columns();
  for (TableColumn& column : columns) {
    if (is_category(column)) column = category_as_text(column, table.n_rows());
  }
  return room = Table(std::move(columns), table.n_rows());
}

}  // namespace causeway::tables
