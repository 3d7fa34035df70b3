#include "causeway/tables/labelled.h"

#include "causeway/tables/encoder.h"
#include "causeway/tables/read_table.h"
#include "causeway/tables/target.h"

namespace causeway::tables {

LabelledTable::LabelledTable(const Table& table, const std::string& target, bool regression) {
  Target read = regression ? read_numbers(table, target) : read_classes(table, target);
  const TableEncoder encoder = TableEncoder::fit(table, read.rows, target);
  warnings = std::move(read.warnings);
  features = encoder.features();
  x = encoder.transform(table, read.rows, warnings, "fit");
  y = read.y;
  classes = std::move(read.classes);
}

LabelledTable::LabelledTable(const std::filesystem::path& path, const std::string& target,
                             bool regression)
    : LabelledTable(read_table_with_target(path, target), target, regression) {}

std::vector<std::int64_t> LabelledTable::strata() const {
  if (classes.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(n_rows()), 0);
  return y.to(DType::i64).to_vector<std::int64_t>();
}

}  // namespace causeway::tables
