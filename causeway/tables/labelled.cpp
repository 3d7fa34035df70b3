#include "causeway/tables/labelled.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tables/csv_table.h"
#include "causeway/tables/encoder.h"
#include "causeway/tables/target.h"

#include <fmt/format.h>

namespace causeway::tables {

LabelledTable::LabelledTable(const Table& table, const std::string& target, bool regression) {
  Target read = regression ? read_numbers(table, target) : read_classes(table, target);
  const TableEncoder encoder = TableEncoder::fit(table, read.rows, target);
  warnings = std::move(read.warnings);
  names = encoder.names();
  x = encoder.transform(table, read.rows, warnings, "fit");
  y = read.y;
  classes = std::move(read.classes);
}

LabelledTable::LabelledTable(const std::filesystem::path& path, const std::string& target,
                             bool regression)
    : LabelledTable(read_csv_with_target(path, target), target, regression) {}

std::vector<std::int64_t> LabelledTable::strata() const {
  if (classes.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(n_rows()), 0);
  return y.to(DType::i64).to_vector<std::int64_t>();
}

Table read_csv_with_target(const std::filesystem::path& path, const std::string& target) {
  CsvTableOptions options;
  options.text = {target};
  Table table = read_csv(path, options);
  if (table.find(target) < 0) {
    fail(ErrorKind::invalid_argument, "read_csv",
         fmt::format("\"{}\" has no column {} for the target; it has: {}", path.string(),
                     shown(target), fmt::join(table.names(), ", ")));
  }
  return table;
}

}  // namespace causeway::tables
