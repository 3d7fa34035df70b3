// How the columns of a table become the numbers that a model reads. The encoder learns from the
// context rows what each column holds, and applies it to the query rows. docs/tables.md has the
// rules.
#pragma once

#include "causeway/tables/column_encoder.h"
#include "causeway/tables/features.h"
#include "causeway/tables/table.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::tables {

class TableEncoder {
 public:
  // Learns from the given rows of every column but `target` (which may be empty). Throws
  // invalid_argument for infinities, and for a table without features.
  static TableEncoder fit(const Table& table, std::span<const std::int64_t> rows,
                          std::string_view target = {});
  // From all rows.
  static TableEncoder fit(const Table& table, std::string_view target = {});

  // (n_rows, n_features) f64 on the CPU, NaN where a cell is missing; times and free text become
  // several features, see column_encoder.h. Columns are found by name.
  // Adds sentences to `warnings`. Throws invalid_argument naming the column, and the row and the
  // value where a cell is not what the column held in fit.
  Tensor transform(const Table& table, std::vector<std::string>& warnings) const;
  // The same for some of the rows, in the order given; error messages begin with [operation].
  Tensor transform(const Table& table, std::span<const std::int64_t> rows,
                   std::vector<std::string>& warnings, const char* operation = "predict") const;

  std::vector<std::string> names() const;  // of the columns
  Features features() const;
  const std::vector<ColumnEncoder>& columns() const { return columns_; }

  // The whole encoder as text.
  std::string to_json() const;
  static TableEncoder from_json(std::string_view text);

 private:
  std::vector<ColumnEncoder> columns_;
};

// 0 to n_rows - 1.
std::vector<std::int64_t> all_rows(const Table& table);

}  // namespace causeway::tables
