#include "causeway/tables/encoder.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

namespace causeway::tables {

namespace {

void require_distinct_names(const Table& table) {
  std::set<std::string_view> seen;
  for (const TableColumn& column : table.columns()) {
    if (seen.insert(column.name).second) continue;
    fail(ErrorKind::invalid_argument, "fit",
         fmt::format("the table has several columns named {}; rename them", shown(column.name)));
  }
}

}  // namespace

std::vector<std::int64_t> all_rows(const Table& table) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.n_rows()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TableEncoder TableEncoder::fit(const Table& table, std::span<const std::int64_t> rows,
                               std::string_view target) {
  require_distinct_names(table);
  TableEncoder encoder;
  for (const TableColumn& column : table.columns()) {
    if (!target.empty() && column.name == target) continue;
    encoder.columns_.emplace_back(column, table.n_rows(), rows);
  }
  if (encoder.columns_.empty()) {
    fail(ErrorKind::invalid_argument, "fit",
         target.empty() ? "the table has no columns"
                        : fmt::format("the table has no column but the target {}", shown(target)));
  }
  return encoder;
}

TableEncoder TableEncoder::fit(const Table& table, std::string_view target) {
  return fit(table, all_rows(table), target);
}

Tensor TableEncoder::transform(const Table& table, std::vector<std::string>& warnings) const {
  return transform(table, all_rows(table), warnings);
}

Tensor TableEncoder::transform(const Table& table, std::span<const std::int64_t> rows,
                               std::vector<std::string>& warnings, const char* operation) const {
  std::vector<std::int64_t> positions;
  std::vector<std::string> absent;
  std::unordered_map<std::string_view, std::int64_t> places;
  for (std::int64_t i = 0; i < table.n_columns(); ++i) places.emplace(table.column(i).name, i);
  for (const ColumnEncoder& column : columns_) {
    const auto found = places.find(column.name());
    positions.push_back(found == places.end() ? -1 : found->second);
    if (positions.back() < 0) absent.push_back(shown(column.name()));
  }
  if (!absent.empty()) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("the table has no column {}; all {} columns of fit are required",
                     fmt::join(absent, ", "), columns_.size()));
  }
  std::int64_t n_features = 0;
  for (const ColumnEncoder& column : columns_) n_features += column.n_features();
  Tensor out = Tensor::empty({static_cast<std::int64_t>(rows.size()), n_features}, DType::f64);
  auto* to = out.data_as<double>();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].encode(table.column(positions[i]), table.n_rows(), rows, to, n_features, operation,
                       warnings);
    to += columns_[i].n_features();
  }
  return out;
}

std::vector<std::string> TableEncoder::names() const {
  std::vector<std::string> names;
  for (const ColumnEncoder& column : columns_) names.push_back(column.name());
  return names;
}

Features TableEncoder::features() const {
  Features made;
  for (const ColumnEncoder& column : columns_) {
    const auto n = static_cast<std::size_t>(column.n_features());
    made.names.insert(made.names.end(), n, column.name());
    made.categorical.insert(made.categorical.end(), n, column.kind() == ColumnKind::category);
  }
  return made;
}

std::string TableEncoder::to_json() const {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const ColumnEncoder& column : columns_) {
    nlohmann::ordered_json entry{{"name", column.name()}, {"kind", to_string(column.kind())}};
    if (column.kind() == ColumnKind::category) entry["categories"] = column.categories();
    columns.push_back(std::move(entry));
  }
  return nlohmann::ordered_json{{"columns", columns}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

TableEncoder TableEncoder::from_json(std::string_view text) {
  TableEncoder encoder;
  try {
    const auto json = nlohmann::json::parse(text);
    for (const auto& entry : json.at("columns")) {
      encoder.columns_.emplace_back(entry.at("name").get<std::string>(),
                                    parse_column_kind(entry.at("kind").get<std::string>()),
                                    entry.value("categories", std::vector<std::string>()));
    }
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "tables", fmt::format("not an encoder: {}", problem.what()));
  }
  return encoder;
}

}  // namespace causeway::tables
