// Tables from CSV files.
#pragma once

#include "causeway/data/csv.h"
#include "causeway/tables/table.h"

#include <filesystem>
#include <string>
#include <vector>

namespace causeway::tables {

struct CsvTableOptions {
  CsvOptions csv;                 // delimiter, header, missing markers, declared types
  std::vector<std::string> text;  // columns that stay text, whatever they spell
};

// The whole file, in memory in proportion to it. A column holds numbers where every cell that is
// not missing is a number, else booleans (true, false), else ISO times, else text: pandas.read_csv
// decides the same way, but leaves times as text. Throws io and format errors that name the file.
Table read_csv(const std::filesystem::path& path, const CsvTableOptions& options = {});

// A reader's batch as a table, which shares its memory.
Table table_of(const CsvBatch& batch);

}  // namespace causeway::tables
