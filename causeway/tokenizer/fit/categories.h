// Column values as categories: their text, and the values of booleans and dates.
#pragma once

#include "causeway/tokenizer/fit/calendar.h"
#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/table.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

// Calls body(row, text) for every value of a column, body(row, nullptr) for missing ones. Numbers
// are written in the shortest form that round-trips.
void for_each_category(const TableColumn& column, std::int64_t n_rows,
                       const std::function<void(std::int64_t, const std::string_view*)>& body);

// Booleans by row: 0, 1, or -1 if missing. Text may be true, false, yes, no, t, f, y, n, 1 or 0 in
// any case; anything else throws, with `operation`.
std::vector<std::int8_t> boolean_values(const TableColumn& column, std::int64_t n_rows,
                                        std::string_view operation);

// Times by row; rows with `missing` set have none. Numbers are seconds; text is not parsed.
struct Moments {
  std::vector<Moment> moments;
  std::vector<bool> missing;
};
Moments moments_of(const TableColumn& column, std::int64_t n_rows, std::string_view operation);

}  // namespace causeway::tokenizer
