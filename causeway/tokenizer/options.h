// What a tokenizer is to do, as the user says it: for all columns, and for some by name.
#pragma once

#include "causeway/tokenizer/kernels/quantile_device.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::tokenizer {

// How a numeric column's edges are found.
enum class Strategy { quantile, uniform, kmeans, tree };
// To which bin a value on an edge belongs: the one that begins there, or the one that ends there.
enum class Closed { left, right };
// What becomes of edges that fall together: dropped, so that there are fewer bins; kept, so that
// bins keep their numbers and some stay empty; or an error.
enum class Duplicates { drop, keep, error };
// Whether a column has a token for missing values: where there were some at fit, always, or never.
enum class MissingRule { automatic, always, never };
enum class ColumnKind { numeric, categorical, boolean, datetime };
// Parts of a date and time that get a token each.
enum class TimeField { year, month, day, weekday, hour, minute, second };
// What a token of a bin decodes to: the middle of the bin, the median of the values that were in it
// at fit (of quantile bins, what lies halfway between the edges' levels, if the bin holds it), or
// its two ends.
enum class Decoding { centre, median, range };

// What one column does in its own way; everything else is as for all.
struct ColumnOptions {
  std::optional<ColumnKind> kind;
  std::optional<std::int64_t> bins;
  std::optional<Strategy> strategy;
  std::vector<double> edges;   // given, not fitted: ascending, two or more
  std::vector<double> levels;  // which quantiles are edges, ascending from 0 to 1
  std::vector<TimeField> fields;
};

struct Options {
  std::int64_t bins = 256;
  Strategy strategy = Strategy::quantile;
  QuantileMethod quantile = QuantileMethod::linear;
  Closed closed = Closed::left;
  Duplicates duplicates = Duplicates::drop;
  double min_width = 0;  // with Duplicates::drop, a bin not wider than this is dropped too
  MissingRule missing = MissingRule::automatic;
  bool statistics = true;  // count every bin's values and find their medians

  std::int64_t min_count = 1;           // rarer categories are unknown
  std::int64_t max_categories = 65536;  // the most frequent are kept
  std::int64_t unknown_buckets = 1;     // tokens that categories not in the vocabulary share
  std::vector<TimeField> fields;        // none: those that vary, the date's always

  bool global = false;  // one vocabulary for all columns: every token has one meaning
  std::vector<std::string> special_tokens;  // take the first numbers of that vocabulary

  std::map<std::string, ColumnOptions> columns;  // by name
};

inline constexpr std::int64_t kMostBins = 65535;

// The words for the choices above, and back; unknown words throw invalid_argument naming all.
std::string_view to_string(Strategy strategy);
std::string_view to_string(QuantileMethod method);
std::string_view to_string(Closed closed);
std::string_view to_string(Duplicates duplicates);
std::string_view to_string(MissingRule rule);
std::string_view to_string(ColumnKind kind);
std::string_view to_string(TimeField field);
std::string_view to_string(Decoding decoding);
Strategy parse_strategy(std::string_view word);
QuantileMethod parse_quantile_method(std::string_view word);
Closed parse_closed(std::string_view word);
Duplicates parse_duplicates(std::string_view word);
MissingRule parse_missing_rule(std::string_view word);
ColumnKind parse_column_kind(std::string_view word);
TimeField parse_time_field(std::string_view word);
Decoding parse_decoding(std::string_view word);

const ConfigDescription<Options>& describe_options();

// Throws invalid_argument for numbers out of range and lists that do not ascend.
void check(const Options& options);

}  // namespace causeway::tokenizer
