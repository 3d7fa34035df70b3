// What a tokenizer knows of a column once it is fitted.
#pragma once

#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/artefact/vocabulary.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::tokenizer {

// Bin b is from edges[b] to edges[b + 1]; the first bin is open below and the last above.
struct Bins {
  std::vector<double> edges;  // one more than there are bins
  Closed closed = Closed::left;
  Strategy strategy = Strategy::quantile;
  std::vector<std::int64_t> counts;  // values at fit; empty without statistics
  std::vector<double> medians;       // the same

  std::int64_t n_bins() const { return static_cast<std::int64_t>(edges.size()) - 1; }
  double centre(std::int64_t bin) const;
};

// The smallest V that reaches each inner edge, for the guided search: exactly the comparison of the
// value with the edge in f64. Edges that no V reaches are left out at the end.
template <class V>
std::vector<V> thresholds_of(const Bins& bins);

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::numeric;
  std::string dtype;  // of the values at fit: "f32", "text", "time"
  bool has_missing = false;
  std::int64_t n_rows = 0;  // at fit
  std::int64_t n_missing = 0;
  Bins bins;              // numeric
  Vocabulary vocabulary;  // categorical and boolean
  std::vector<TimeField> fields;
  std::int64_t first_year = 0;  // the years at fit; others count as the nearest of them
  std::int64_t last_year = 0;
};

// A column of tokens: every column has one, a date one for each of its fields. Tokens are numbered
// from `offset`: first the values, then the buckets of the unknown, then the missing.
struct Slot {
  std::string name;  // "age", "when.month"
  std::int64_t column = 0;
  TimeField field = TimeField::year;
  std::int64_t n_values = 0;
  std::int64_t n_unknown = 0;
  bool has_missing = false;
  std::int64_t offset = 0;
  std::vector<std::int64_t> counts;  // at fit, one a token; empty where they are not known

  std::int64_t n_tokens() const { return n_values + n_unknown + (has_missing ? 1 : 0); }
  std::int64_t missing_token() const { return offset + n_values + n_unknown; }
};

}  // namespace causeway::tokenizer
