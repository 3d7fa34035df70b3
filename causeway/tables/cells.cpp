#include "causeway/tables/cells.h"

#include "causeway/data/csv_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace causeway::tables {

namespace {

std::int64_t divided_down(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

std::int64_t microseconds(std::int64_t value, std::int64_t units_per_second) {
  constexpr std::int64_t kMicro = 1'000'000;
  return units_per_second <= kMicro ? value * (kMicro / units_per_second)
                                    : divided_down(value, units_per_second / kMicro);
}

struct Date {
  std::int64_t year;
  int month;
  int day;
};

// The day of the Gregorian calendar, counted from 1970-01-01.
Date date_of(std::int64_t days) {
  const std::int64_t shifted = days + 719468;  // from 0000-03-01
  const std::int64_t era = divided_down(shifted, 146097);
  const std::int64_t day_of_era = shifted - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;  // from March
  const int day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

}  // namespace

Cells::Cells(const TableColumn& column, std::int64_t n_rows)
    : column_(column),
      is_boolean_(column.type == ValueType::number && column.numbers.dtype() == DType::boolean) {
  if (column.missing.numel() > 0) missing_ = column.missing.to_vector<bool>();
  if (column.type == ValueType::number) {
    numbers_ = column.numbers.to(DType::f64).to_vector<double>();
    return;
  }
  if (column.type == ValueType::text) return;
  integers_ = column.numbers.to(DType::i64).to_vector<std::int64_t>();
  if (column.type == ValueType::category) return;
  constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();  // NumPy's NaT
  for (std::int64_t row = 0; row < n_rows; ++row) {
    std::int64_t& value = integers_[static_cast<std::size_t>(row)];
    if (value == kNotATime) {
      if (missing_.empty()) missing_.resize(static_cast<std::size_t>(n_rows), false);
      missing_[static_cast<std::size_t>(row)] = true;
      continue;
    }
    value = microseconds(value, column.units_per_second);
  }
}

bool Cells::is_missing(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  if (!missing_.empty() && missing_[at]) return true;
  if (type() == ValueType::number) return std::isnan(numbers_[at]);
  if (type() != ValueType::category) return false;
  return integers_[at] < 0 || integers_[at] >= column_.n_categories;
}

std::string_view Cells::text(std::int64_t row) const {
  if (type() == ValueType::text) return column_.text.at(row);
  return column_.categories.at(integers_[static_cast<std::size_t>(row)]);
}

std::string Cells::shown_value(std::int64_t row) const {
  if (is_text()) return std::string(text(row));
  if (type() == ValueType::time) return text_of_time(time(row));
  if (is_boolean()) return number(row) != 0 ? "True" : "False";
  return text_of_number(number(row));
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  if (!csv::parse_number(csv::trimmed(text), value)) return std::nullopt;
  return value;
}

std::optional<bool> truth_of(std::string_view text) {
  bool value = false;
  if (!csv::parse_boolean(csv::trimmed(text), value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> time_of(std::string_view text) {
  std::int64_t value = 0;
  if (!csv::parse_time(csv::trimmed(text), value)) return std::nullopt;
  return value;
}

std::string text_of_number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string text_of_time(std::int64_t value) {
  constexpr std::int64_t kDay = 86'400'000'000;
  const std::int64_t days = divided_down(value, kDay);
  const std::int64_t rest = value - days * kDay;
  const auto [year, month, day] = date_of(days);
  std::string text = fmt::format("{:04}-{:02}-{:02}", year, month, day);
  if (rest == 0) return text;
  const std::int64_t seconds = rest / 1'000'000;
  text += fmt::format("T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (rest % 1'000'000 != 0) {
    text += fmt::format(".{:06}", rest % 1'000'000);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

void sort_names(std::vector<std::string>& names) {
  std::vector<std::pair<double, std::string>> numbers;
  for (const std::string& name : names) {
    const auto value = number_of(name);
    if (!value.has_value() || std::isnan(*value)) break;
    numbers.emplace_back(*value, name);
  }
  if (numbers.size() < names.size()) {
    std::sort(names.begin(), names.end());
    return;
  }
  std::sort(numbers.begin(), numbers.end());
  std::transform(numbers.begin(), numbers.end(), names.begin(),
                 [](const auto& entry) { return entry.second; });
}

}  // namespace causeway::tables
