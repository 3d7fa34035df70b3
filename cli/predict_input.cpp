#include "cli/predict_input.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

namespace causeway::cli {

namespace {

constexpr std::size_t kMostClasses = 10;  // what a model tells, unless it was made for more

std::string_view word(const CsvText& text, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  const auto begin = static_cast<std::size_t>(text.offsets[at]);
  const auto end = static_cast<std::size_t>(text.offsets[at + 1]);
  return std::string_view(text.bytes).substr(begin, end - begin);
}

bool is_missing(const CsvColumn& column, std::int64_t row) {
  return column.missing.numel() > 0 && column.missing.data_as<bool>()[row];
}

// Words in the order of the numbers they are, or else of their letters.
std::vector<std::string> in_order(const std::set<std::string, std::less<>>& words) {
  std::vector<std::string> order(words.begin(), words.end());
  std::vector<std::pair<double, std::string>> numbers;
  for (const std::string& text : order) {
    double value = 0;
    if (!csv::parse_number(csv::trimmed(text), value)) return order;
    numbers.emplace_back(value, text);
  }
  std::sort(numbers.begin(), numbers.end());
  std::transform(numbers.begin(), numbers.end(), order.begin(),
                 [](const auto& entry) { return entry.second; });
  return order;
}

const CsvColumn* find(const CsvBatch& batch, const std::string& name) {
  const auto found = std::find_if(batch.columns.begin(), batch.columns.end(),
                                  [&](const CsvColumn& column) { return column.name == name; });
  return found == batch.columns.end() ? nullptr : &*found;
}

std::vector<std::int64_t> all_rows(std::int64_t n_rows) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n_rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

CsvReader open_table(const std::string& path, const std::string& target, CsvType type) {
  const std::vector<std::string> columns = CsvReader(path).names();
  if (std::find(columns.begin(), columns.end(), target) == columns.end()) {
    fail(ErrorKind::invalid_argument, "predict",
         fmt::format("\"{}\" has no column {}; --target names one of: {}", path, shown(target),
                     fmt::join(columns, ", ")));
  }
  CsvOptions options;
  options.types[target] = type;
  return CsvReader(path, options);
}

}  // namespace

bool is_number_target(const std::string& path, const std::string& target) {
  CsvReader reader = open_table(path, target, CsvType::text);
  std::set<double> wholes;
  for (CsvBatch batch; reader.next(batch);) {
    const CsvColumn& column = *find(batch, target);
    for (std::int64_t row = 0; row < batch.n_rows; ++row) {
      if (is_missing(column, row)) continue;
      double value = 0;
      if (!csv::parse_number(csv::trimmed(word(*column.text, row)), value)) return false;
      wholes.insert(value);
      if (value != std::floor(value) || wholes.size() > kMostClasses) return true;
    }
  }
  return false;
}

TableReader::TableReader(const std::string& path, const std::string& target, bool regression)
    : target_(target) {
  const CsvBatch batch =
      open_table(path, target, regression ? CsvType::number : CsvType::text).rest();
  learn_target(*find(batch, target), regression, batch.n_rows);
  for (const CsvColumn& column : batch.columns) {
    if (column.name == target) continue;
    Feature feature{column.name, column.type, {}};
    if (column.type == CsvType::text) {
      std::set<std::string, std::less<>> words;
      for (const std::int64_t row : rows_) {
        if (!is_missing(column, row)) words.emplace(word(*column.text, row));
      }
      double code = 0;
      for (const std::string& text : in_order(words)) feature.codes[text] = code++;
    }
    features_.push_back(feature);
    names_.push_back(column.name);
  }
  if (features_.empty() || rows_.empty()) {
    fail(ErrorKind::invalid_argument, "predict",
         fmt::format("\"{}\" has {} besides the target", path,
                     features_.empty() ? "no column" : "no row with a target"));
  }
  x_ = numbers(batch, rows_);
}

void TableReader::learn_target(const CsvColumn& column, bool regression, std::int64_t n_rows) {
  std::vector<double> values;
  std::set<std::string, std::less<>> words;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const bool absent = regression ? !std::isfinite(column.numbers.data_as<double>()[row])
                                   : is_missing(column, row);
    if (absent) continue;
    rows_.push_back(row);
    if (!regression) words.emplace(csv::trimmed(word(*column.text, row)));
  }
  classes_ = in_order(words);
  for (const std::int64_t row : rows_) {
    if (regression) {
      values.push_back(column.numbers.data_as<double>()[row]);
      continue;
    }
    const auto at =
        std::find(classes_.begin(), classes_.end(), csv::trimmed(word(*column.text, row)));
    values.push_back(static_cast<double>(at - classes_.begin()));
  }
  if (const auto left = n_rows - static_cast<std::int64_t>(rows_.size()); left > 0) {
    notes_.push_back(
        fmt::format("rows without a value in {} are left out: {}", shown(column.name), left));
  }
  y_ = Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())});
}

void TableReader::fill(const Feature& feature, const CsvColumn& column,
                       const std::vector<std::int64_t>& rows, double* out, std::int64_t step) {
  std::set<std::string, std::less<>> unseen;
  const double none = std::nan("");
  for (const std::int64_t row : rows) {
    double value = none;
    if (feature.type == CsvType::number) {
      value = column.numbers.data_as<double>()[row];
    } else if (!is_missing(column, row)) {
      if (feature.type == CsvType::text) {
        const std::string_view text = word(*column.text, row);
        const auto code = feature.codes.find(text);
        if (code == feature.codes.end()) {
          unseen.emplace(text);
        } else {
          value = code->second;
        }
      } else if (feature.type == CsvType::boolean) {
        value = column.numbers.data_as<bool>()[row] ? 1 : 0;
      } else {
        value = static_cast<double>(column.numbers.data_as<std::int64_t>()[row]);
      }
    }
    *out = value;
    out += step;
  }
  if (unseen.empty()) return;
  std::string some = shown(*unseen.begin());
  if (unseen.size() > 1) some += fmt::format(" and {} more", unseen.size() - 1);
  notes_.push_back(fmt::format("column {}: words not seen before are taken as missing: {}",
                               shown(feature.name), some));
}

Tensor TableReader::numbers(const CsvBatch& batch, const std::vector<std::int64_t>& rows) {
  const auto n_features = static_cast<std::int64_t>(features_.size());
  Tensor out = Tensor::empty({static_cast<std::int64_t>(rows.size()), n_features}, DType::f64);
  for (std::int64_t i = 0; i < n_features; ++i) {
    const Feature& feature = features_[static_cast<std::size_t>(i)];
    fill(feature, *find(batch, feature.name), rows, out.data_as<double>() + i, n_features);
  }
  return out;
}

Tensor TableReader::read(const std::string& path) {
  const std::vector<std::string> columns = CsvReader(path).names();
  CsvOptions options;
  std::vector<std::string> absent;
  for (const Feature& feature : features_) {
    options.types[feature.name] = feature.type;
    if (std::find(columns.begin(), columns.end(), feature.name) == columns.end()) {
      absent.push_back(shown(feature.name));
    }
  }
  if (!absent.empty()) {
    fail(ErrorKind::invalid_argument, "predict",
         fmt::format("\"{}\" lacks columns of the table to learn from: {}", path,
                     fmt::join(absent, ", ")));
  }
  const CsvBatch batch = CsvReader(path, options).rest();
  return numbers(batch, all_rows(batch.n_rows));
}

}  // namespace causeway::cli
