// Short ways to write columns of every type.
#pragma once

#include "causeway/tables/table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace causeway::tables {

inline std::int64_t count(const auto& values) { return static_cast<std::int64_t>(values.size()); }

inline TableColumn numbers(std::string name, const std::vector<double>& values) {
  TableColumn column;
  column.name = std::move(name);
  column.numbers = Tensor::from<double>(values, {count(values)});
  return column;
}

inline TableColumn truths(std::string name, const std::vector<bool>& values) {
  TableColumn column;
  column.name = std::move(name);
  column.numbers = Tensor::empty({count(values)}, DType::boolean);
  std::copy(values.begin(), values.end(), column.numbers.data_as<bool>());
  return column;
}

inline TableColumn times(std::string name, const std::vector<std::int64_t>& values,
                         std::int64_t units_per_second) {
  TableColumn column;
  column.name = std::move(name);
  column.type = ValueType::time;
  column.numbers = Tensor::from<std::int64_t>(values, {count(values)});
  column.units_per_second = units_per_second;
  return column;
}

// {} is missing.
inline TableColumn text(std::string name, const std::vector<std::optional<std::string>>& values) {
  TableColumn column;
  column.name = std::move(name);
  column.type = ValueType::text;
  std::vector<std::string> strings;
  column.missing = Tensor::empty({count(values)}, DType::boolean);
  for (std::size_t i = 0; i < values.size(); ++i) {
    strings.push_back(values[i].value_or(""));
    column.missing.data_as<bool>()[i] = !values[i].has_value();
  }
  column.text = Text::from(strings);
  return column;
}

inline TableColumn categories(std::string name, const std::vector<std::string>& names,
                              const std::vector<std::int64_t>& codes, bool ordered) {
  TableColumn column;
  column.name = std::move(name);
  column.type = ValueType::category;
  column.numbers = Tensor::from<std::int64_t>(codes, {count(codes)});
  column.categories = Text::from(names);
  column.n_categories = count(names);
  column.ordered = ordered;
  return column;
}

inline Table table_of(std::vector<TableColumn> columns) {
  const TableColumn& first = columns.front();
  const std::int64_t n_rows =
      first.type == ValueType::text ? first.missing.size(0) : first.numbers.size(0);
  return Table(std::move(columns), n_rows);
}

}  // namespace causeway::tables
