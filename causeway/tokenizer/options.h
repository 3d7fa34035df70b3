// Options of a tokenizer: for all columns, and overrides by column name.
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

// How the bin edges of a numeric column are chosen.
enum class Strategy { quantile, uniform, kmeans, tree };
// Which side of a bin is closed: a value on an edge belongs to the bin that starts there (left) or
// ends there (right).
enum class Closed { left, right };
// Coinciding edges: dropped, so that there are fewer bins; kept, so that bins keep their numbers
// and some stay empty; or an error.
enum class Duplicates { drop, keep, error };
// Whether a column has a token for missing values: if there were any at fit time, always, or never.
enum class MissingRule { automatic, always, never };
enum class ColumnKind { numeric, categorical, boolean, datetime };
// Parts of a date and time that get one token each.
enum class TimeField { year, month, day, weekday, hour, minute, second };
// What a bin's token decodes to: the centre of the bin, the median of its values at fit time (for
// quantile bins, the quantile halfway between the edges' levels if it is in the bin), or its two
// edges.
enum class Decoding { centre, median, range };

// Overrides for one column.
struct ColumnOptions {
  std::optional<ColumnKind> kind;
  std::optional<std::int64_t> bins;
  std::optional<Strategy> strategy;
  std::vector<double> edges;   // fixed edges instead of fitted ones: ascending, at least two
  std::vector<double> levels;  // quantile levels of the edges, ascending in [0, 1]
  std::vector<TimeField> fields;
};

struct Options {
  std::int64_t bins = 256;
  Strategy strategy = Strategy::quantile;
  QuantileMethod quantile = QuantileMethod::linear;
  Closed closed = Closed::left;
  Duplicates duplicates = Duplicates::drop;
  double min_width = 0;  // with Duplicates::drop, bins that are not wider are dropped too
  MissingRule missing = MissingRule::automatic;
  bool statistics = true;  // count the values of every bin and compute their medians

  std::int64_t min_count = 1;           // rarer categories are unknown
  std::int64_t max_categories = 65536;  // only the most frequent are kept
  std::int64_t unknown_buckets = 1;     // tokens shared by unknown categories
  std::vector<TimeField> fields;        // empty: the date, and time fields that vary

  bool global = false;                      // one vocabulary for all columns: token ids are unique
  std::vector<std::string> special_tokens;  // take the first ids of that vocabulary

  std::map<std::string, ColumnOptions> columns;  // by name
};

inline constexpr std::int64_t kMostBins = 65535;

// Conversion of the enumerations to and from text; unknown text throws invalid_argument with the
// valid choices.
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

// Throws invalid_argument for values out of range and lists that are not ascending.
void check(const Options& options);

}  // namespace causeway::tokenizer
