#include "causeway/tables/csv_table.h"

#include "causeway/tables/cells.h"

#include <algorithm>
#include <array>
#include <utility>

namespace causeway::tables {

namespace {

constexpr std::array kTypes{CsvType::number, CsvType::boolean, CsvType::time};

bool spells(CsvType type, std::string_view text) {
  switch (type) {
    case CsvType::number: return number_of(text).has_value();
    case CsvType::boolean: return truth_of(text).has_value();
    case CsvType::time: return time_of(text).has_value();
    case CsvType::text: break;
  }
  return true;
}

// The types that all cells of a column so far can be.
struct Candidates {
  std::array<bool, kTypes.size()> fits{true, true, true};

  void look_at(const CsvColumn& column, std::int64_t n_rows) {
    const Text text{column.text->bytes.data(), column.text->offsets.data(), nullptr};
    const bool* missing = column.missing.numel() > 0 ? column.missing.data_as<bool>() : nullptr;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      for (std::int64_t row = 0; row < n_rows && fits[i]; ++row) {
        if (missing != nullptr && missing[row]) continue;
        fits[i] = spells(kTypes[i], text.at(row));
      }
    }
  }
  CsvType type() const {
    const auto first = std::find(fits.begin(), fits.end(), true);
    return first == fits.end() ? CsvType::text
                               : kTypes[static_cast<std::size_t>(first - fits.begin())];
  }
};

// The types of all columns by all cells of the file, read as text batch by batch.
std::map<std::string, CsvType> types_of(const std::filesystem::path& path,
                                        const CsvTableOptions& options) {
  CsvOptions as_text = options.csv;
  const CsvReader header(path, options.csv);
  for (const std::string& name : header.names()) {
    as_text.types.emplace(name, CsvType::text);
  }
  CsvReader reader(path, as_text);
  std::vector<Candidates> candidates(reader.names().size());
  for (CsvBatch batch; reader.next(batch);) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (batch.columns[i].type != CsvType::text) continue;  // declared
      candidates[i].look_at(batch.columns[i], batch.n_rows);
    }
  }
  std::map<std::string, CsvType> types = options.csv.types;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& name = reader.names()[i];
    const bool stays =
        std::find(options.text.begin(), options.text.end(), name) != options.text.end();
    types.emplace(name, stays ? CsvType::text : candidates[i].type());
  }
  return types;
}

}  // namespace

Table table_of(const CsvBatch& batch) {
  std::vector<TableColumn> columns;
  for (const CsvColumn& from : batch.columns) {
    TableColumn column;
    column.name = from.name;
    column.missing = from.missing;
    if (from.text != nullptr) {
      column.type = ValueType::text;
      column.text = Text{from.text->bytes.data(), from.text->offsets.data(), from.text};
    } else {
      column.numbers = from.numbers;
      if (from.type == CsvType::time) {
        column.type = ValueType::time;
        column.units_per_second = 1000000;
      }
    }
    columns.push_back(std::move(column));
  }
  return Table(std::move(columns), batch.n_rows);
}

Table read_csv(const std::filesystem::path& path, const CsvTableOptions& options) {
  CsvOptions typed = options.csv;
  typed.types = types_of(path, options);
  return table_of(CsvReader(path, typed).rest());
}

}  // namespace causeway::tables
