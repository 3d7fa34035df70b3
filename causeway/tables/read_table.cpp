#include "causeway/tables/read_table.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/data/parquet.h"
#include "causeway/tables/csv_table.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace causeway::tables {

namespace {

Table table_of(ParquetTable&& from) {
  std::vector<TableColumn> columns;
  for (ParquetColumn& column : from.columns) {
    TableColumn made;
    made.name = column.name;
    made.missing = column.missing;
    if (column.type == ParquetType::text) {
      made.type = ValueType::text;
      made.text = Text::from(std::move(column.bytes), std::move(column.offsets));
    } else {
      made.numbers = column.numbers;
      if (column.type == ParquetType::time) {
        made.type = ValueType::time;
        made.units_per_second = column.units_per_second;
      }
    }
    columns.push_back(std::move(made));
  }
  return Table(std::move(columns), from.n_rows);
}

Table read(const std::filesystem::path& path, const CsvTableOptions& options) {
  return is_parquet(path) ? table_of(read_parquet(path)) : read_csv(path, options);
}

}  // namespace

Table read_table(const std::filesystem::path& path) { return read(path, {}); }

Table read_table_with_target(const std::filesystem::path& path, const std::string& target) {
  CsvTableOptions options;
  options.text = {target};
  Table table = read(path, options);
  if (table.find(target) < 0) {
    fail(ErrorKind::invalid_argument, "read_table",
         fmt::format("\"{}\" has no column {} for the target; it has: {}", path.string(),
                     shown(target), shown_list(table.names())));
  }
  return table;
}

}  // namespace causeway::tables
