// Numeric columns grouped into matrices for single kernel calls: adjacent columns of a matrix form
// one block without a copy; separate columns are processed one by one.
#pragma once

#include "causeway/tokenizer/table.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

struct Block {
  Tensor matrix;          // of a binned dtype
  Tensor missing;         // same shape, or empty
  std::size_t first = 0;  // the first of the `count` columns it contains
  std::size_t count = 0;
};

// Groups the table's columns `places[i]` into blocks, in order; -1 is skipped. Throws, with
// `operation`, if a column is text.
std::vector<Block> blocks_of(const Table& table, std::span<const std::int64_t> places,
                             std::string_view operation);

// One column's values in host memory as f64, NaN if missing.
std::vector<double> host_values(const TableColumn& column);

}  // namespace causeway::tokenizer
