// Input of the tokenizer commands: CSV files and .npy matrices, whole or in batches.
#pragma once

#include "causeway/data/csv.h"
#include "causeway/tables/table.h"
#include "causeway/tokenizer/column.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace causeway::cli {

struct InputOptions {
  std::string path;
  std::string delimiter;
  bool no_header = false;
  std::vector<std::string> missing;
  std::vector<std::string> categorical, numeric, boolean, datetime;
  std::vector<std::string> drop;
  bool quiet = false;
};

// The field separator of a CSV file.
char delimiter_of(const InputOptions& options);

// Adds the data file and the options for reading it.
void add_input(CLI::App& command, InputOptions& options, bool required);

// The whole table, or only the columns of `select` if it is not empty.
tables::Table read_table(const InputOptions& options, Device device,
                         const std::vector<std::string>& select = {});

// Declares the column types of the tokenizer in `input`. Returns the columns' names.
std::vector<std::string> declare_columns(const std::vector<tokenizer::Column>& columns,
                                         InputOptions& input);

// Moves a table to `device`; a table with text stays on the CPU.
tables::Table on_device(const tables::Table& table, Device device);

bool is_csv(const std::string& path);
// In bytes.
std::size_t file_size(const InputOptions& options);

// Calls `body` with each batch in turn.
void for_each_batch(const InputOptions& options, const std::string& label,
                    const std::vector<std::string>& select,
                    const std::function<void(const tables::Table&)>& body);

}  // namespace causeway::cli
