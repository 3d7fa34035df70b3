// The page of a tokenizer: bins of numeric columns, tokens by frequency, and drift of new data.
#pragma once

#include "causeway/report/html.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::report {

// A column of tokens.
struct TokenColumn {
  std::string name;
  std::string about;                     // a line of plain text
  std::string drift;                     // another one, or empty
  std::vector<double> edges;             // of a numeric column; else empty
  std::vector<std::int64_t> bin_counts;  // values in each bin at fit; may be empty
  std::vector<std::int64_t> counts;      // of each token at fit; may be empty
  std::vector<std::int64_t> new_counts;  // in the new data; may be empty
};

std::string tokenizer_html(const std::string& title, const std::string& lead,
                           const std::vector<TokenColumn>& columns);

}  // namespace causeway::report
