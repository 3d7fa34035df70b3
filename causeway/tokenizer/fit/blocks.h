// Columns of numbers gathered into matrices that one kernel call serves: neighbours in a matrix go
// together, without a copy; columns of their own go one by one.
#pragma once

#include "causeway/tokenizer/table.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

struct Block {
  Tensor matrix;          // of a binned dtype
  Tensor missing;         // of the same shape, or without elements
  std::size_t first = 0;  // the first of the `count` items it holds
  std::size_t count = 0;
};

// The items' columns `places[i]` of the table as blocks, in order; items whose place is -1 are left
// out. Throws, naming `operation`, where a column holds text.
std::vector<Block> blocks_of(const Table& table, std::span<const std::int64_t> places,
                             std::string_view operation);

// One column's numbers in host memory as f64, NaN where missing.
std::vector<double> host_values(const TableColumn& column);

}  // namespace causeway::tokenizer
