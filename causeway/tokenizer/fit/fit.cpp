// Fitting a table: determines the kind of each column and fits it.
#include "causeway/core/error.h"
#include "causeway/tokenizer/fit/categories.h"
#include "causeway/tokenizer/fit/fit_columns.h"
#include "causeway/tokenizer/fit/fit_numeric.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace causeway::tokenizer {

namespace {

void require_allowed(const Options& options, const Column& column) {
  if (options.missing != MissingRule::never || column.n_missing == 0) return;
  fail(ErrorKind::invalid_argument, "tokenizer.fit",
       fmt::format("column \"{}\": {} of {} values are missing, but missing is \"never\"; use "
                   "\"auto\" or \"always\"",
                   column.name, column.n_missing, column.n_rows));
}

}  // namespace

void check_columns(const Table& table, const Options& options) {
  std::set<std::string_view> names;
  for (const TableColumn& column : table.columns()) {
    if (!names.insert(column.name).second) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           fmt::format("duplicate column name \"{}\"; rename one of them", column.name));
    }
  }
  for (const auto& [name, own] : options.columns) {
    if (table.find(name) < 0) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           fmt::format("options are given for column \"{}\", which the table does not have", name));
    }
  }
}

Column new_column(const TableColumn& from, std::int64_t n_rows, const Options& options) {
  Column column;
  column.name = from.name;
  column.n_rows = n_rows;
  column.dtype = from.type == ValueType::text   ? "text"
                 : from.type == ValueType::time ? "time"
                                                : std::string(to_string(from.numbers.dtype()));
  const auto own = options.columns.find(from.name);
  if (own != options.columns.end() && own->second.kind.has_value()) {
    column.kind = *own->second.kind;
  } else if (from.type == ValueType::text) {
    column.kind = ColumnKind::categorical;
  } else if (from.type == ValueType::time) {
    column.kind = ColumnKind::datetime;
  } else {
    column.kind =
        from.numbers.dtype() == DType::boolean ? ColumnKind::boolean : ColumnKind::numeric;
  }
  return column;
}

void count_categories(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                      Column& column) {
  for_each_category(from, n_rows, [&](std::int64_t, const std::string_view* value) {
    if (value == nullptr) {
      ++column.n_missing;
    } else {
      counts.add(*value);
    }
  });
}

void count_booleans(const TableColumn& from, std::int64_t n_rows, CategoryCounts& counts,
                    Column& column) {
  for (const std::int8_t truth : boolean_values(from, n_rows, "tokenizer.fit")) {
    if (truth < 0) {
      ++column.n_missing;
    } else {
      counts.add(truth != 0 ? "true" : "false");
    }
  }
}

void TimeSpan::add(const TableColumn& from, std::int64_t n_rows, Column& column) {
  const Moments found = moments_of(from, n_rows, "tokenizer.fit");
  for (std::size_t i = 0; i < found.moments.size(); ++i) {
    if (found.missing[i]) {
      ++column.n_missing;
      continue;
    }
    const Moment& moment = found.moments[i];
    first_year = any ? std::min(first_year, moment.year) : moment.year;
    last_year = any ? std::max(last_year, moment.year) : moment.year;
    any = true;
    has_time = has_time || moment.hour != 0 || moment.minute != 0 || moment.second != 0;
  }
}

void TimeSpan::merge(const TimeSpan& other) {
  if (!other.any) return;
  first_year = any ? std::min(first_year, other.first_year) : other.first_year;
  last_year = any ? std::max(last_year, other.last_year) : other.last_year;
  any = true;
  has_time = has_time || other.has_time;
}

void finish_categories(const CategoryCounts& counts, const Options& options, Column& column) {
  if (column.kind == ColumnKind::boolean) {
    std::int64_t n[2] = {0, 0};
    for (const auto& [value, count] : counts.entries()) n[value == "true" ? 1 : 0] = count;
    column.vocabulary = Vocabulary({"false", "true"}, {n[0], n[1]}, 0, 0);
  } else {
    column.vocabulary =
        Vocabulary::of(counts, options.min_count, options.max_categories, options.unknown_buckets);
  }
}

void finish_times(const TimeSpan& span, const Options& options, Column& column) {
  column.first_year = span.first_year;
  column.last_year = span.last_year;
  constexpr std::int64_t kMostYears = 10000;
  if (column.last_year - column.first_year >= kMostYears) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("column \"{}\": years range from {} to {}; check the units", column.name,
                     column.first_year, column.last_year));
  }
  const auto own = options.columns.find(column.name);
  if (own != options.columns.end()) column.fields = own->second.fields;
  if (column.fields.empty()) column.fields = options.fields;
  if (!column.fields.empty()) return;
  column.fields = {TimeField::year, TimeField::month, TimeField::day, TimeField::weekday};
  if (!span.has_time) return;
  for (const TimeField field : {TimeField::hour, TimeField::minute, TimeField::second}) {
    column.fields.push_back(field);
  }
}

void finish_missing(const Options& options, Column& column) {
  require_allowed(options, column);
  column.has_missing = options.missing == MissingRule::always ||
                       (options.missing == MissingRule::automatic && column.n_missing > 0);
}

Tokenizer Tokenizer::fit(const Table& given, const Options& options, const FitData& data) {
  Table room;
  const Table& table = tables::categories_as_text(given, room);
  check(options);
  if (table.n_columns() == 0 || table.n_rows() == 0) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("cannot fit a table of {} rows and {} columns", table.n_rows(),
                     table.n_columns()));
  }
  check_columns(table, options);
  std::vector<Column> columns;
  std::vector<std::int64_t> places;  // of numeric columns
  for (std::int64_t i = 0; i < table.n_columns(); ++i) {
    columns.push_back(new_column(table.column(i), table.n_rows(), options));
    places.push_back(columns.back().kind == ColumnKind::numeric ? i : -1);
  }
  for (const Block& block : blocks_of(table, places, "tokenizer.fit")) {
    fit_numeric(block, options, data, std::span(columns).subspan(block.first, block.count));
  }
  for (std::int64_t i = 0; i < table.n_columns(); ++i) {
    Column& column = columns[static_cast<std::size_t>(i)];
    const TableColumn& from = table.column(i);
    if (column.kind == ColumnKind::datetime) {
      TimeSpan span;
      span.add(from, table.n_rows(), column);
      finish_times(span, options, column);
    } else if (column.kind != ColumnKind::numeric) {
      CategoryCounts counts;
      const bool booleans = column.kind == ColumnKind::boolean;
      booleans ? count_booleans(from, table.n_rows(), counts, column)
               : count_categories(from, table.n_rows(), counts, column);
      finish_categories(counts, options, column);
    }
    finish_missing(options, column);
  }
  return {std::move(columns), options};
}

}  // namespace causeway::tokenizer
