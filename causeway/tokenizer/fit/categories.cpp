#include "causeway/tokenizer/fit/categories.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/fit/blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace causeway::tokenizer {

namespace {

std::vector<bool> mask_of(const TableColumn& column) {
  return column.missing.numel() > 0 ? column.missing.to_vector<bool>() : std::vector<bool>();
}

std::string number_text(double value) {
  constexpr double kWhole = 9007199254740992.0;  // 2^53
  if (std::floor(value) == value && std::fabs(value) <= kWhole) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  return fmt::format("{}", value);
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& letter : small) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return small;
}

int truth_of(std::string_view text) {
  const std::string word = lower(text);
  for (const char* yes : {"true", "yes", "t", "y", "1"}) {
    if (word == yes) return 1;
  }
  for (const char* no : {"false", "no", "f", "n", "0"}) {
    if (word == no) return 0;
  }
  return -1;
}

}  // namespace

void for_each_category(const TableColumn& column, std::int64_t n_rows,
                       const std::function<void(std::int64_t, const std::string_view*)>& body) {
  const std::vector<bool> marks = mask_of(column);
  const auto marked = [&](std::int64_t row) {
    return !marks.empty() && marks[static_cast<std::size_t>(row)];
  };
  if (column.type == ValueType::text) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const std::string_view text = column.text.at(row);
      body(row, marked(row) ? nullptr : &text);
    }
    return;
  }
  const Tensor host = column.numbers.to(Device::cpu());
  const bool whole = !is_floating(host.dtype());
  const auto integers =
      whole ? host.to(DType::i64).to_vector<std::int64_t>() : std::vector<std::int64_t>();
  const auto reals = whole ? std::vector<double>() : host.to(DType::f64).to_vector<double>();
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (marked(row) || (!whole && std::isnan(reals[at]))) {
      body(row, nullptr);
      continue;
    }
    const std::string text = whole ? std::to_string(integers[at]) : number_text(reals[at]);
    const std::string_view view = text;
    body(row, &view);
  }
}

std::vector<std::int8_t> boolean_values(const TableColumn& column, std::int64_t n_rows,
                                        std::string_view operation) {
  std::vector<std::int8_t> booleans(static_cast<std::size_t>(n_rows), -1);
  const auto refuse = [&](std::string_view value, std::int64_t row) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("column \"{}\": expected true or false, got \"{}\" in row {}; declare it "
                     "categorical",
                     column.name, value, row));
  };
  for_each_category(column, n_rows, [&](std::int64_t row, const std::string_view* value) {
    if (value == nullptr) return;
    const int truth = truth_of(*value);
    if (truth < 0) refuse(*value, row);
    booleans[static_cast<std::size_t>(row)] = static_cast<std::int8_t>(truth);
  });
  return booleans;
}

Moments moments_of(const TableColumn& column, std::int64_t n_rows, std::string_view operation) {
  if (column.type == ValueType::text) {
    const std::string_view text = n_rows > 0 ? column.text.at(0) : "";
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("column \"{}\": expected dates, got text such as \"{}\"; write them as "
                     "2026-01-31 or 2026-01-31T12:00:00, or declare the column categorical",
                     column.name, text));
  }
  const std::vector<bool> marks = mask_of(column);
  Moments found;
  const Tensor host = column.numbers.to(Device::cpu());
  if (column.type == ValueType::time || !is_floating(host.dtype())) {
    constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();
    const auto times = host.to(DType::i64).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < times.size(); ++i) {
      const bool missing = (!marks.empty() && marks[i]) || times[i] == kNotATime;
      found.missing.push_back(missing);
      found.moments.push_back(missing ? Moment() : moment_of(times[i], column.units_per_second));
    }
    return found;
  }
  for (const double seconds : host_values(column)) {
    const bool missing = !(std::fabs(seconds) < 9e15);  // NaN too
    found.missing.push_back(missing);
    found.moments.push_back(missing ? Moment()
                                    : moment_of(static_cast<std::int64_t>(std::floor(seconds)), 1));
  }
  return found;
}

}  // namespace causeway::tokenizer
