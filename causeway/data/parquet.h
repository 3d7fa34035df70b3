// Parquet files with one value per row and column: numbers, decimals, booleans, text, dates and
// timestamps, optional or not; compressed with Snappy, gzip or Zstandard, or not at all. Columns
// have plain or dictionary encoding, which pyarrow and pandas write by default.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace causeway {

enum class ParquetType { number, boolean, time, text };

struct ParquetColumn {
  std::string name;
  ParquetType type = ParquetType::number;
  // i64 for integers, f64 for other numbers, bool, i64 since 1970 for times; 0 where missing.
  Tensor numbers;
  std::int64_t units_per_second = 1;     // of times
  std::string bytes;                     // texts one after the other
  std::vector<std::int64_t> offsets{0};  // of the texts: one more than there are rows
  Tensor missing;                        // bool; empty if no value is missing
};

struct ParquetTable {
  std::vector<ParquetColumn> columns;
  std::int64_t n_rows = 0;
};

// Whether the file begins as a Parquet file does. Throws io errors that start with [read_table].
bool is_parquet(const std::filesystem::path& path);

// The whole file in memory, without the columns of a pandas index. Throws io and format errors that
// start with [read_parquet] and the file name.
ParquetTable read_parquet(const std::filesystem::path& path);

}  // namespace causeway
