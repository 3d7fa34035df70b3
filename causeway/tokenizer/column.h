// A fitted column.
#pragma once

#include "causeway/tokenizer/options.h"
#include "causeway/tokenizer/artefact/vocabulary.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::tokenizer {

// Bin b is edges[b] to edges[b + 1]; the first bin is unbounded below and the last above.
struct Bins {
  std::vector<double> edges;  // one more than there are bins
  Closed closed = Closed::left;
  Strategy strategy = Strategy::quantile;
  std::vector<std::int64_t> counts;  // values at fit time; empty without statistics
  std::vector<double> medians;       // likewise

  std::int64_t n_bins() const { return static_cast<std::int64_t>(edges.size()) - 1; }
  double centre(std::int64_t bin) const;
};

// The smallest V that reaches each inner edge, for the guided search; equivalent to comparing the
// value with the edge in f64. Edges that no V reaches are dropped at the end.
template <class V>
std::vector<V> thresholds_of(const Bins& bins);

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::numeric;
  std::string dtype;  // of the values at fit time: "f32", "text", "time"
  bool has_missing = false;
  std::int64_t n_rows = 0;  // at fit time
  std::int64_t n_missing = 0;
  Bins bins;              // numeric
  Vocabulary vocabulary;  // categorical and boolean
  std::vector<TimeField> fields;
  std::int64_t first_year = 0;  // range of years at fit time; other years are clamped to it
  std::int64_t last_year = 0;
};

// One output column of tokens. Every column has one, a date one per field. Token ids start at
// `offset`: values, then unknown buckets, then missing.
struct Slot {
  std::string name;  // "age", "when.month"
  std::int64_t column = 0;
  TimeField field = TimeField::year;
  std::int64_t n_values = 0;
  std::int64_t n_unknown = 0;
  bool has_missing = false;
  std::int64_t offset = 0;
  std::vector<std::int64_t> counts;  // at fit time, per token; empty if not known

  std::int64_t n_tokens() const { return n_values + n_unknown + (has_missing ? 1 : 0); }
  std::int64_t missing_token() const { return offset + n_values + n_unknown; }
};

}  // namespace causeway::tokenizer
