// A table from a reader's batch, whatever reader that is: the batch has n_rows and columns, and
// those have a name, numbers, text with bytes and offsets (or none), missing, and whether they are
// times.
#pragma once

#include "causeway/tokenizer/table.h"

#include <utility>
#include <vector>

namespace causeway::tokenizer {

// `is_time(column)` tells the columns whose numbers are microseconds since 1970. Text is shared.
template <class Batch, class IsTime>
Table table_of_batch(const Batch& batch, const IsTime& is_time) {
  std::vector<TableColumn> columns;
  for (const auto& from : batch.columns) {
    TableColumn column;
    column.name = from.name;
    column.missing = from.missing;
    if (from.text != nullptr) {
      column.type = ValueType::text;
      column.text = Text{from.text->bytes.data(), from.text->offsets.data(), from.text};
    } else {
      column.numbers = from.numbers;
      if (is_time(from)) {
        column.type = ValueType::time;
        column.units_per_second = 1000000;
      }
    }
    columns.push_back(std::move(column));
  }
  return Table(std::move(columns), batch.n_rows);
}

}  // namespace causeway::tokenizer
