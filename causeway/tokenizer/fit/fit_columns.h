// The steps of a fit that a whole table and a stream of batches share: what a column is, what is
// gathered of it, and how that becomes the fitted column.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/table.h"

namespace causeway::tokenizer {

// Throws where two columns have one name, or options are given for one that is not there.
void check_columns(const Table& table, const Options& options);

// The column's name, type and kind: as declared, else by the type of its values.
Column new_column(const TableColumn& from, std::int64_t n_rows, const Options& options);

// Adds a batch's values, and its missing ones to column.n_missing.
void count_categories(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                      Column& column);
void count_truths(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                  Column& column);

// The years of a column of dates, and whether any has a time of day.
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
// Whether there is a token for missing values; throws where they must not be there and are.
void finish_missing(const Options& options, Column& column);

}  // namespace causeway::tokenizer
