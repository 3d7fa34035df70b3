// Steps shared by fitting a table and a stream of batches: determining a column's kind, collecting
// its statistics, and building the fitted column.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/table.h"

namespace causeway::tokenizer {

// Throws for duplicate column names, and for options of columns that do not exist.
void check_columns(const Table& table, const Options& options);

// The column's name, dtype and kind: as declared, otherwise by the dtype of its values.
Column new_column(const TableColumn& from, std::int64_t n_rows, const Options& options);

// Adds the values of a batch; missing ones are added to column.n_missing.
void count_categories(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                      Column& column);
void count_booleans(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                    Column& column);

// The range of years of a date column, and whether any value has a time of day.
struct TimeSpan {
  std::int64_t first_year = 1970;
  std::int64_t last_year = 1970;
  bool any = false;
  bool has_time = false;

  void add(const TableColumn& from, std::int64_t n_rows, Column& column);
  void merge(const TimeSpan& other);
};

void finish_categories(const CategoryCounts& counts, const Options& options, Column& column);
void finish_times(const TimeSpan& span, const Options& options, Column& column);
// Decides whether there is a token for missing values; throws if they are not allowed but occur.
void finish_missing(const Options& options, Column& column);

}  // namespace causeway::tokenizer
