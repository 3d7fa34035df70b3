#include "causeway/tables/column_encoder.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/text_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace causeway::tables {

namespace {

constexpr std::pair<ColumnKind, const char*> kKinds[] = {
    {ColumnKind::empty, "empty"},       {ColumnKind::number, "number"},
    {ColumnKind::boolean, "boolean"},   {ColumnKind::time, "time"},
    {ColumnKind::category, "category"}, {ColumnKind::text, "text"}};

constexpr std::int64_t kTimeFeatures = 5;
constexpr std::size_t kFewestTexts = 20;  // different values of a column of free text

// The time in microseconds, the month from 1, the day of the month, the day of the week from Monday
// = 0, the hour of the day with its fraction.
void time_features(double microseconds, double* out) {
  using namespace std::chrono;
  const sys_time<std::chrono::microseconds> time{
      std::chrono::microseconds{static_cast<std::int64_t>(microseconds)}};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  out[0] = microseconds;
  out[1] = static_cast<unsigned>(date.month());
  out[2] = static_cast<unsigned>(date.day());
  out[3] = weekday(day).iso_encoding() - 1;
  out[4] = duration<double, std::ratio<3600>>(time - day).count();
}

const char* expectation(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::number: return "a number";
    case ColumnKind::boolean: return "true or false";
    case ColumnKind::time: return "a time such as 2026-01-31T12:00";
    default: return "a category";
  }
}

// What the strings of some rows spell, all of them.
ColumnKind kind_of_text(const Cells& cells, const std::vector<std::int64_t>& rows) {
  const auto all = [&](auto parse) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](std::int64_t row) { return parse(cells.text(row)).has_value(); });
  };
  if (all(number_of)) return ColumnKind::number;
  if (all(truth_of)) return ColumnKind::boolean;
  if (all(time_of)) return ColumnKind::time;
  return ColumnKind::category;
}

ColumnKind kind_of(const Cells& cells, const std::vector<std::int64_t>& rows) {
  if (rows.empty()) return ColumnKind::empty;
  switch (cells.type()) {
    case ValueType::number: return cells.is_boolean() ? ColumnKind::boolean : ColumnKind::number;
    case ValueType::time: return ColumnKind::time;
    case ValueType::category: return ColumnKind::category;
    case ValueType::text: break;
  }
  return kind_of_text(cells, rows);
}

std::vector<std::string> categories_of(const TableColumn& column, const Cells& cells,
                                       const std::vector<std::int64_t>& rows) {
  std::vector<std::string> names;
  if (column.type == ValueType::category && column.ordered) {
    for (std::int64_t i = 0; i < column.n_categories; ++i) {
      names.emplace_back(column.categories.at(i));
    }
    return names;
  }
  std::set<std::string_view> seen;
  for (const std::int64_t row : rows) seen.insert(cells.text(row));
  names.assign(seen.begin(), seen.end());
  sort_names(names);
  return names;
}

// Up to three values in the order they came, and how many more there were.
class UnseenValues {
 public:
  void add(const std::string& value) {
    if (seen_.insert(value).second && first_.size() < 3) first_.push_back(shown(value));
  }
  void warn(const std::string& column, std::vector<std::string>& warnings) const {
    if (seen_.empty()) return;
    std::string text = fmt::format("column {}: values not seen in fit are treated as missing: {}",
                                   shown(column), fmt::join(first_, ", "));
    if (seen_.size() > first_.size()) {
      text += fmt::format(" and {} more", seen_.size() - first_.size());
    }
    warnings.push_back(std::move(text));
  }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> first_;
};

}  // namespace

const char* to_string(ColumnKind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  return "";
}

ColumnKind parse_column_kind(const std::string& name) {
  for (const auto& [value, text] : kKinds) {
    if (name == text) return value;
  }
  fail(ErrorKind::format, "tables", fmt::format("there is no kind of column {}", shown(name)));
}

ColumnEncoder::ColumnEncoder(const TableColumn& column, std::int64_t n_rows,
                             std::span<const std::int64_t> rows)
    : name_(column.name) {
  const Cells cells(column, n_rows);
  std::vector<std::int64_t> present;
  for (const std::int64_t row : rows) {
    if (!cells.is_missing(row)) present.push_back(row);
  }
  kind_ = kind_of(cells, present);
  if (kind_ == ColumnKind::category) categories_ = categories_of(column, cells, present);
  if (column.type == ValueType::text && categories_.size() >= kFewestTexts &&
      2 * categories_.size() > present.size()) {
    kind_ = ColumnKind::text;
    categories_.clear();
  }
  index_categories();
}

ColumnEncoder::ColumnEncoder(std::string name, ColumnKind kind, std::vector<std::string> categories)
    : name_(std::move(name)), kind_(kind), categories_(std::move(categories)) {
  index_categories();
}

std::int64_t ColumnEncoder::n_features() const {
  if (kind_ == ColumnKind::text) return kTextFeatures;
  return kind_ == ColumnKind::time ? kTimeFeatures : 1;
}

void ColumnEncoder::index_categories() {
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    const auto code = static_cast<double>(i);
    const std::string& name = categories_[i];
    by_name_.emplace(name, code);
    if (const auto value = number_of(name); value.has_value() && !std::isnan(*value)) {
      by_number_.emplace(*value, code);
    }
    if (const auto value = truth_of(name)) by_truth_.emplace(*value, code);
    if (const auto value = time_of(name)) by_time_.emplace(*value, code);
  }
}

void ColumnEncoder::refuse(const char* operation, std::int64_t row, const std::string& got) const {
  fail(ErrorKind::invalid_argument, operation,
       fmt::format("column {}, row {} (from 0): expected {}, as in fit, got {}", shown(name_), row,
                   expectation(kind_), shown(got)));
}

std::optional<double> ColumnEncoder::category(const Cells& cells, std::int64_t row) const {
  const auto find = [](const auto& map, const auto& key) -> std::optional<double> {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional<double>(found->second);
  };
  if (cells.type() == ValueType::time) return find(by_time_, cells.time(row));
  if (cells.is_boolean()) return find(by_truth_, cells.number(row) != 0);
  if (cells.type() == ValueType::number) return find(by_number_, cells.number(row));
  const std::string_view text = cells.text(row);
  if (const auto code = find(by_name_, text)) return code;
  if (const auto value = number_of(text)) return find(by_number_, *value);
  if (const auto value = truth_of(text)) return find(by_truth_, *value);
  if (const auto value = time_of(text)) return find(by_time_, *value);
  return std::nullopt;
}

std::optional<double> ColumnEncoder::value(const Cells& cells, std::int64_t row,
                                           const char* operation) const {
  if (kind_ == ColumnKind::category) return category(cells, row);
  const bool is_time = cells.type() == ValueType::time;
  if (kind_ == ColumnKind::time) {
    if (is_time) return static_cast<double>(cells.time(row));
    const auto parsed = cells.is_text() ? time_of(cells.text(row)) : std::nullopt;
    if (!parsed.has_value()) refuse(operation, row, cells.shown_value(row));
    return static_cast<double>(*parsed);
  }
  if (is_time) refuse(operation, row, cells.shown_value(row));
  if (!cells.is_text()) return cells.number(row);
  if (kind_ == ColumnKind::boolean) {
    if (const auto truth = truth_of(cells.text(row))) return *truth ? 1.0 : 0.0;
  }
  const auto parsed = number_of(cells.text(row));
  if (!parsed.has_value()) refuse(operation, row, std::string(cells.text(row)));
  return *parsed;
}

bool ColumnEncoder::encode_cell(const Cells& cells, std::int64_t row, const char* operation,
                                double* out) const {
  if (kind_ == ColumnKind::text) {
    const std::string text =
        cells.is_text() ? std::string(cells.text(row)) : cells.shown_value(row);
    text_features(text, std::span<double, kTextFeatures>(out, kTextFeatures));
    return true;
  }
  const auto found = value(cells, row, operation);
  if (!found.has_value()) return false;
  if (std::isinf(*found)) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("column {}, row {} (from 0): infinity; replace it by a finite number, or "
                     "mark it as missing",
                     shown(name_), row));
  }
  if (kind_ == ColumnKind::time) {
    time_features(*found, out);
  } else {
    *out = *found;
  }
  return true;
}

void ColumnEncoder::encode(const TableColumn& column, std::int64_t n_rows,
                           std::span<const std::int64_t> rows, double* out, std::int64_t stride,
                           const char* operation, std::vector<std::string>& warnings) const {
  const auto fill_missing = [&](double* cell) {
    std::fill(cell, cell + n_features(), std::numeric_limits<double>::quiet_NaN());
  };
  if (kind_ == ColumnKind::empty) {
    for (std::size_t i = 0; i < rows.size(); ++i, out += stride) fill_missing(out);
    return;
  }
  const Cells cells(column, n_rows);
  UnseenValues unseen;
  for (const std::int64_t row : rows) {
    fill_missing(out);
    if (!cells.is_missing(row) && !encode_cell(cells, row, operation, out)) {
      unseen.add(cells.shown_value(row));
    }
    out += stride;
  }
  unseen.warn(name_, warnings);
}

}  // namespace causeway::tables
