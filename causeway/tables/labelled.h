// A table with a target, encoded as numbers: what a model is scored on.
#pragma once

#include "causeway/tables/features.h"
#include "causeway/tables/table.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace causeway::tables {

struct LabelledTable {
  // Encoders learn from all rows that have a target; the others are left out.
  LabelledTable(const Table& table, const std::string& target, bool regression);
  // Of a CSV or Parquet file.
  LabelledTable(const std::filesystem::path& path, const std::string& target, bool regression);

  Features features;
  Tensor x;  // (rows, features) f64, NaN where missing
  Tensor y;  // (rows,) f64: class codes, or numbers
  std::vector<std::string> classes;
  std::vector<std::string> warnings;

  std::int64_t n_rows() const { return y.size(0); }
  std::int64_t n_classes() const { return static_cast<std::int64_t>(classes.size()); }
  // Codes for a stratified split: all 0 for regression.
  std::vector<std::int64_t> strata() const;
};

}  // namespace causeway::tables
