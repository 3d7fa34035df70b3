// Values of a column as categories: their text, and for booleans and dates their numbers.
#pragma once

#include "causeway/tokenizer/fit/calendar.h"
#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/table.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

// Calls body(row, text) for every value of a column, body(row, nullptr) for a missing one. Numbers
// are written the shortest way that reads back as the same number.
void for_each_category(const TableColumn& column, std::int64_t n_rows,
                       const std::function<void(std::int64_t, const std::string_view*)>& body);

// Each row's truth: 0, 1, or -1 where missing. Text is true, false, yes, no, t, f, y, n, 1, 0 in
// any case. Throws, naming `operation`, for anything else.
std::vector<std::int8_t> truth_values(const TableColumn& column, std::int64_t n_rows,
                                      std::string_view operation);

// Each row's moment; rows whose `missing` is set have none. Numbers count seconds; text is not
// read.
struct Moments {
  std::vector<Moment> moments;
  std::vector<bool> missing;
};
Moments moments_of(const TableColumn& column, std::int64_t n_rows, std::string_view operation);

}  // namespace causeway::tokenizer
