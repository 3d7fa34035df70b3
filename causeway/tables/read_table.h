// Tables from files: CSV or Parquet, by their first bytes.
#pragma once

#include "causeway/tables/table.h"

#include <filesystem>
#include <string>

namespace causeway::tables {

// The whole file in memory. Throws io and format errors that name the file.
Table read_table(const std::filesystem::path& path);

// The target of a CSV file keeps its labels as they are written. Throws invalid_argument naming the
// columns where the target is not one.
Table read_table_with_target(const std::filesystem::path& path, const std::string& target);

}  // namespace causeway::tables
