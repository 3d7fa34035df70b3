#include "causeway/tokenizer/fit/blocks.h"

#include "causeway/core/advice.h"
#include "causeway/core/error.h"
#include "causeway/tokenizer/fit/order_statistics.h"

#include <fmt/format.h>

#include <limits>

namespace causeway::tokenizer {

namespace {

[[noreturn]] void fail_text(const Table& table, std::int64_t place, std::string_view operation) {
  const TableColumn& column = table.column(place);
  std::int64_t row = 0;
  const bool marks = column.missing.numel() > 0;
  while (row + 1 < table.n_rows() && marks && column.missing.data_as<bool>()[row]) ++row;
  const std::string_view text = table.n_rows() > 0 ? column.text.at(row) : "";
  fail(ErrorKind::invalid_argument, operation,
       fmt::format("column {} \"{}\": expected a number, got \"{}\" in row {}; {}", place,
                   column.name, text, row,
                   advice(fmt::format("declare it categorical or pass --missing \"{}\"", text),
                          "declare it categorical in columns=, or make the cell missing")));
}

}  // namespace

std::vector<Block> blocks_of(const Table& table, std::span<const std::int64_t> places,
                             std::string_view operation) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < places.size();) {
    if (places[i] < 0) {
      ++i;
      continue;
    }
    const TableColumn& column = table.column(places[i]);
    if (column.type == ValueType::text) fail_text(table, places[i], operation);
    Block block;
    block.first = i;
    std::size_t end = i + 1;
    if (table.is_matrix()) {
      while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
      block.matrix = table.matrix().slice(1, places[i], places[end - 1] + 1);
    } else {
      block.matrix = column.numbers.unsqueeze(1);
      if (column.missing.numel() > 0) block.missing = column.missing.unsqueeze(1);
    }
    block.matrix = block.matrix.to(binned_dtype(block.matrix.dtype()));
    block.count = end - i;
    blocks.push_back(std::move(block));
    i = end;
  }
  return blocks;
}

std::vector<double> host_values(const TableColumn& column) {
  auto values = column.numbers.to(Device::cpu()).to(DType::f64).to_vector<double>();
  if (column.missing.numel() > 0) {
    const auto missing = column.missing.to_vector<bool>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (missing[i]) values[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return values;
}

}  // namespace causeway::tokenizer
