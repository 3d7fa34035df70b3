#include "cli/tokenizer_input.h"

#include "cli/progress.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/data/npy.h"
#include "causeway/tables/csv_table.h"
#include "causeway/tensor/indexing.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace causeway::cli {

namespace {

using tables::Table;
using tables::TableColumn;

CsvOptions csv_options(const InputOptions& options) {
  CsvOptions csv;
  csv.delimiter = delimiter_of(options);
  csv.header = !options.no_header;
  for (const std::string& word : options.missing) csv.missing.push_back(word);
  const auto declare = [&](const std::vector<std::string>& names, CsvType type) {
    for (const std::string& name : names) csv.types[name] = type;
  };
  declare(options.categorical, CsvType::text);
  declare(options.boolean, CsvType::text);
  declare(options.numeric, CsvType::number);
  declare(options.datetime, CsvType::time);
  return csv;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_dropped(const InputOptions& options, const std::vector<std::string>& names) {
  for (const std::string& name : options.drop) {
    if (has(names, name)) continue;
    fail(ErrorKind::invalid_argument, "--drop",
         fmt::format("\"{}\" has no column {}", options.path, shown(name)));
  }
}

// The selected columns, without those of --drop.
Table select_columns(const CsvBatch& batch, const InputOptions& options,
                     const std::vector<std::string>& select) {
  std::vector<std::string> names;
  for (const CsvColumn& column : batch.columns) names.push_back(column.name);
  require_dropped(options, names);
  CsvBatch kept;
  kept.n_rows = batch.n_rows;
  for (const CsvColumn& column : batch.columns) {
    if (has(options.drop, column.name) || (!select.empty() && !has(select, column.name))) continue;
    kept.columns.push_back(column);
  }
  return tables::table_of(kept);
}

// A matrix without the columns of --drop, which are numbers.
Table without_dropped(const Tensor& matrix, const InputOptions& options) {
  if (options.drop.empty() || matrix.n_dims() != 2) return Table(matrix);
  std::vector<std::string> names;
  std::vector<std::string> kept_names;
  std::vector<Tensor> kept;
  for (std::int64_t i = 0; i < matrix.size(1); ++i) {
    names.push_back(std::to_string(i));
    if (has(options.drop, names.back())) continue;
    kept_names.push_back(names.back());
    kept.push_back(matrix.select(1, i));
  }
  require_dropped(options, names);
  if (kept.empty()) {
    fail(ErrorKind::invalid_argument, "--drop",
         fmt::format("all columns of \"{}\" are dropped", options.path));
  }
  return Table(stack(kept, 1), kept_names);
}

}  // namespace

char delimiter_of(const InputOptions& options) {
  const std::string& given = options.delimiter;
  if (given.empty()) return options.path.ends_with(".tsv") ? '\t' : '\0';
  if (given == "\\t" || given == "tab") return '\t';
  if (given.size() == 1) return given[0];
  throw CLI::ValidationError("--delimiter", "expected one character, got \"" + given + "\"");
}

void add_input(CLI::App& command, InputOptions& options, bool required) {
  CLI::Option* data = command.add_option(
      "data", options.path, "Input: a CSV file, also compressed (.gz, .zst), or a .npy file");
  data->type_name("FILE");
  if (required) data->required();
  command
      .add_option("--delimiter", options.delimiter,
                  "Field separator [detected: comma, semicolon or tab]")
      ->type_name("CHAR");
  command.add_flag("--no-header", options.no_header,
                   "The first line has values, not names; columns are named 0, 1, ...");
  command
      .add_option("--missing", options.missing,
                  "Another marker of missing values, in addition to those of pandas; repeatable")
      ->type_name("TEXT")
      ->allow_extra_args(false);
}

std::vector<std::string> declare_columns(const std::vector<tokenizer::Column>& columns,
                                         InputOptions& input) {
  std::vector<std::string> names;
  for (const tokenizer::Column& column : columns) {
    names.push_back(column.name);
    switch (column.kind) {
      case tokenizer::ColumnKind::numeric: input.numeric.push_back(column.name); break;
      case tokenizer::ColumnKind::datetime: input.datetime.push_back(column.name); break;
      default: input.categorical.push_back(column.name);
    }
  }
  return names;
}

Table on_device(const Table& table, Device device) {
  if (device.is_cpu()) return table;
  if (table.is_matrix()) {
    std::vector<std::string> names;
    for (const TableColumn& column : table.columns()) names.push_back(column.name);
    return Table(table.matrix().to(device), names);
  }
  std::vector<TableColumn> columns = table.columns();
  for (const TableColumn& column : columns) {
    if (column.type == tables::ValueType::text) return table;  // text stays on the CPU
  }
  for (TableColumn& column : columns) {
    column.numbers = column.numbers.to(device);
    column.missing = column.missing.to(device);
  }
  return Table(std::move(columns), table.n_rows());
}

bool is_csv(const std::string& path) { return !path.ends_with(".npy"); }

std::size_t file_size(const InputOptions& options) {
  std::error_code error;
  const auto size = std::filesystem::file_size(options.path, error);
  return error ? 0 : static_cast<std::size_t>(size);
}

void for_each_batch(const InputOptions& options, const std::string& label,
                    const std::vector<std::string>& select,
                    const std::function<void(const Table&)>& body) {
  if (!is_csv(options.path)) return body(read_table(options, Device::cpu()));
  CsvReader reader(options.path, csv_options(options));
  Progress progress("bytes (" + label + ")", options.quiet);
  for (CsvBatch batch; reader.next(batch);) {
    body(select_columns(batch, options, select));
    progress.update(static_cast<std::int64_t>(reader.position()),
                    static_cast<std::int64_t>(reader.n_bytes()));
  }
}

Table read_table(const InputOptions& options, Device device,
                 const std::vector<std::string>& select) {
  if (!is_csv(options.path)) {
    const Tensor matrix = load_npy(options.path, device);
    return without_dropped(matrix.n_dims() == 1 ? matrix.unsqueeze(1) : matrix, options);
  }
  CsvReader reader(options.path, csv_options(options));
  return on_device(select_columns(reader.rest(), options, select), device);
}

}  // namespace causeway::cli
