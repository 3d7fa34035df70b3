#include "causeway/tables/target.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace causeway::tables {

namespace {

constexpr std::size_t kMaxClasses = 10;  // distinct integers that are classes by default

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "fit", message);
}

const TableColumn& target_column(const Table& table, std::string_view target) {
  const std::int64_t at = table.find(target);
  if (at >= 0) return table.column(at);
  refuse(fmt::format("the table has no column {} for the target; it has: {}", shown(target),
                     shown_list(table.names())));
}

// The cell as a number, where it is one; times are none.
std::optional<double> number_at(const Cells& cells, std::int64_t row) {
  if (cells.is_text()) return number_of(cells.text(row));
  if (cells.type() == ValueType::time) return std::nullopt;
  return cells.number(row);
}

void require_finite(double value, std::string_view target, std::int64_t row) {
  if (!std::isinf(value)) return;
  refuse(
      fmt::format("target {}, row {} (from 0): infinity; replace it by a finite number, or mark "
                  "it as missing",
                  shown(target), row));
}

// Rows that have a target, with a warning about the others.
Target present_rows(const Cells& cells, const Table& table, std::string_view target) {
  Target made;
  for (std::int64_t row = 0; row < table.n_rows(); ++row) {
    if (!cells.is_missing(row)) made.rows.push_back(row);
  }
  const auto left = table.n_rows() - static_cast<std::int64_t>(made.rows.size());
  if (made.rows.empty()) refuse(fmt::format("no row has a value of the target {}", shown(target)));
  if (left > 0) {
    made.warnings.push_back(
        fmt::format("rows without a value of the target {} are left out: {}", shown(target), left));
  }
  return made;
}

Tensor vector_of(const std::vector<double>& values) {
  return Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

bool is_regression_target(const Table& table, std::string_view target) {
  const Cells cells(target_column(table, target), table.n_rows());
  if (cells.is_boolean() || cells.type() == ValueType::category) return false;
  std::set<double> values;
  bool all_whole = true;
  for (std::int64_t row = 0; row < table.n_rows(); ++row) {
    if (cells.is_missing(row)) continue;
    const auto value = number_at(cells, row);
    if (!value.has_value()) return false;
    all_whole = all_whole && *value == std::floor(*value);
    if (values.size() <= kMaxClasses) values.insert(*value);
  }
  return !all_whole || values.size() > kMaxClasses;
}

Target read_classes(const Table& table, std::string_view target) {
  const Cells cells(target_column(table, target), table.n_rows());
  Target made = present_rows(cells, table, target);
  const bool by_value = std::all_of(made.rows.begin(), made.rows.end(), [&](std::int64_t row) {
    return number_at(cells, row).has_value();
  });
  std::map<std::string, std::string> labels;  // by what makes two cells the same class
  std::vector<std::string> keys;
  for (const std::int64_t row : made.rows) {
    const std::string label = cells.shown_value(row);
    if (by_value) require_finite(*number_at(cells, row), target, row);
    keys.push_back(by_value && !cells.is_boolean() ? text_of_number(*number_at(cells, row))
                                                   : label);
    labels.emplace(keys.back(), label);
  }
  std::vector<std::string> order;
  for (const auto& [key, label] : labels) order.push_back(key);
  sort_names(order);
  std::map<std::string, double> codes;
  for (const std::string& key : order) {
    codes.emplace(key, static_cast<double>(made.classes.size()));
    made.classes.push_back(labels.at(key));
  }
  std::vector<double> values;
  for (const std::string& key : keys) values.push_back(codes.at(key));
  made.y = vector_of(values);
  return made;
}

Target read_numbers(const Table& table, std::string_view target) {
  const Cells cells(target_column(table, target), table.n_rows());
  Target made = present_rows(cells, table, target);
  std::vector<double> values;
  for (const std::int64_t row : made.rows) {
    const auto value = number_at(cells, row);
    if (!value.has_value()) {
      refuse(fmt::format("target {}, row {} (from 0): expected a number, got {}", shown(target),
                         row, shown(cells.shown_value(row))));
    }
    require_finite(*value, target, row);
    values.push_back(*value);
  }
  made.y = vector_of(values);
  return made;
}

}  // namespace causeway::tables
