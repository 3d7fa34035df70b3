// The page of a tokenizer: bins of numeric columns, tokens by frequency, and drift of new data, the
// columns that drifted most first.
#pragma once

#include "causeway/report/html.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace causeway::report {

struct TokenColumn {
  std::string name;
  std::string about;                          // plain text
  std::string drift;                          // plain text, or empty
  std::vector<double> edges;                  // numeric columns only
  std::vector<std::int64_t> bin_counts;       // values per bin at fit; may be empty
  std::vector<std::int64_t> counts;           // rows per token at fit; may be empty
  std::vector<std::int64_t> new_counts;       // in the new data; may be empty
  std::vector<std::string> token_names = {};  // such as categories
  bool has_categories = false;                // draws one bar per name
  double stability_index = NAN;               // of the new data (PSI); NaN: unknown
};

// A population stability index above 0.1 is moderate drift, above 0.25 large drift; but never one
// that samples of this size reach without drift.
struct DriftVerdict {
  enum class Severity { unknown, none, moderate, large };
  Severity severity = Severity::unknown;
  std::string text;  // "large drift: PSI 0.41, above 0.25"
};
DriftVerdict drift_verdict(const TokenColumn& column);

std::string tokenizer_html(const std::string& title, const std::string& lead,
                           std::vector<TokenColumn> columns);

}  // namespace causeway::report
