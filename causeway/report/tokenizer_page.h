// The page of a tokenizer: bins of numeric columns, tokens by frequency, and drift of new data.
#pragma once

#include "causeway/report/html.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::report {

struct TokenColumn {
  std::string name;
  std::string about;                     // plain text
  std::string drift;                     // plain text, or empty
  std::vector<double> edges;             // numeric columns only
  std::vector<std::int64_t> bin_counts;  // values per bin at fit; may be empty
  std::vector<std::int64_t> counts;      // rows per token at fit; may be empty
  std::vector<std::int64_t> new_counts;  // in the new data; may be empty
};

std::string tokenizer_html(const std::string& title, const std::string& lead,
                           const std::vector<TokenColumn>& columns);

}  // namespace causeway::report
