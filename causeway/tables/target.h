// The target of a prediction, read from a column: class labels or numbers.
#pragma once

#include "causeway/tables/table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::tables {

// The rows whose target is not missing: the context rows of a fit.
struct Target {
  std::vector<std::int64_t> rows;    // ascending
  Tensor y;                          // (rows,) f64: codes 0 to n_classes - 1, or numbers
  std::vector<std::string> classes;  // labels by code; empty for numbers
  std::vector<std::string> warnings;

  std::int64_t n_classes() const { return static_cast<std::int64_t>(classes.size()); }
};

// Whether a target is for regression by default: numbers that are not all integers, or more than
// ten distinct ones. Text, booleans and up to ten distinct integers are classes.
bool is_regression_target(const Table& table, std::string_view target);

// Labels are sorted by value if all are numbers, else by bytes; texts that spell the same number
// are one class. Throws invalid_argument where the table has no such column or no row with a
// target, and for infinity.
Target read_classes(const Table& table, std::string_view target);

// Throws also for a cell that is not a number, naming column and row.
Target read_numbers(const Table& table, std::string_view target);

}  // namespace causeway::tables
