#include "causeway/tokenizer/options.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

namespace causeway::tokenizer {

namespace {

template <class Enum>
using Words = std::span<const std::pair<Enum, std::string_view>>;

template <class Enum>
std::string_view word_of(Words<Enum> words, Enum value) {
  for (const auto& [entry, word] : words) {
    if (entry == value) return word;
  }
  return "";
}

template <class Enum>
Enum parse(Words<Enum> words, std::string_view what, std::string_view word) {
  std::string all;
  for (const auto& [entry, known] : words) {
    if (known == word) return entry;
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  fail(ErrorKind::invalid_argument, "tokenizer",
       fmt::format("{} must be one of {}; got \"{}\"", what, all, word));
}

constexpr std::pair<Strategy, std::string_view> kStrategies[] = {{Strategy::quantile, "quantile"},
                                                                 {Strategy::uniform, "uniform"},
                                                                 {Strategy::kmeans, "kmeans"},
                                                                 {Strategy::tree, "tree"}};
constexpr std::pair<QuantileMethod, std::string_view> kMethods[] = {
    {QuantileMethod::inverted_cdf, "inverted_cdf"},
    {QuantileMethod::averaged_inverted_cdf, "averaged_inverted_cdf"},
    {QuantileMethod::closest_observation, "closest_observation"},
    {QuantileMethod::interpolated_inverted_cdf, "interpolated_inverted_cdf"},
    {QuantileMethod::hazen, "hazen"},
    {QuantileMethod::weibull, "weibull"},
    {QuantileMethod::linear, "linear"},
    {QuantileMethod::median_unbiased, "median_unbiased"},
    {QuantileMethod::normal_unbiased, "normal_unbiased"}};
constexpr std::pair<Closed, std::string_view> kClosed[] = {{Closed::left, "left"},
                                                           {Closed::right, "right"}};
constexpr std::pair<Duplicates, std::string_view> kDuplicates[] = {
    {Duplicates::drop, "drop"}, {Duplicates::keep, "keep"}, {Duplicates::error, "error"}};
constexpr std::pair<MissingRule, std::string_view> kMissing[] = {{MissingRule::automatic, "auto"},
                                                                 {MissingRule::always, "always"},
                                                                 {MissingRule::never, "never"}};
constexpr std::pair<ColumnKind, std::string_view> kKinds[] = {
    {ColumnKind::numeric, "numeric"},
    {ColumnKind::categorical, "categorical"},
    {ColumnKind::boolean, "boolean"},
    {ColumnKind::datetime, "datetime"}};
constexpr std::pair<TimeField, std::string_view> kFields[] = {
    {TimeField::year, "year"},       {TimeField::month, "month"}, {TimeField::day, "day"},
    {TimeField::weekday, "weekday"}, {TimeField::hour, "hour"},   {TimeField::minute, "minute"},
    {TimeField::second, "second"}};
constexpr std::pair<Decoding, std::string_view> kDecodings[] = {
    {Decoding::centre, "centre"}, {Decoding::median, "median"}, {Decoding::range, "range"}};

[[noreturn]] void fail_options(const std::string& message) {
  fail(ErrorKind::invalid_argument, "tokenizer", message);
}

void check_bins(std::int64_t bins, const std::string& where) {
  if (bins < 1 || bins > kMostBins) {
    fail_options(fmt::format("{}bins must be from 1 to {}, got {}", where, kMostBins, bins));
  }
}

void check_ascending(std::span<const double> numbers, const std::string& what) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (std::isnan(numbers[i]) || (i > 0 && numbers[i] < numbers[i - 1])) {
      fail_options(fmt::format("{} must be in ascending order, but entry {} is {} after {}", what,
                               i, numbers[i], i > 0 ? numbers[i - 1] : numbers[i]));
    }
  }
}

void check_column(const std::string& name, const ColumnOptions& column) {
  const std::string where = fmt::format("column \"{}\": ", name);
  if (column.bins.has_value()) check_bins(*column.bins, where);
  const auto most = static_cast<std::size_t>(kMostBins) + 1;
  if (column.edges.size() == 1 || column.edges.size() > most) {
    fail_options(
        fmt::format("{}edges must be 2 to {} numbers, got {}", where, most, column.edges.size()));
  }
  check_ascending(column.edges, where + "edges");
  check_ascending(column.levels, where + "levels");
  if (column.levels.size() == 1 || column.levels.size() > most) {
    fail_options(fmt::format("{}levels must be 2 to {} numbers from 0 to 1, got {}", where, most,
                             column.levels.size()));
  }
  if (!column.levels.empty() && (column.levels.front() < 0 || column.levels.back() > 1)) {
    fail_options(where + "levels must be in [0, 1]");
  }
}

}  // namespace

std::string_view to_string(Strategy strategy) { return word_of<Strategy>(kStrategies, strategy); }
std::string_view to_string(QuantileMethod method) {
  return word_of<QuantileMethod>(kMethods, method);
}
std::string_view to_string(Closed closed) { return word_of<Closed>(kClosed, closed); }
std::string_view to_string(Duplicates rule) { return word_of<Duplicates>(kDuplicates, rule); }
std::string_view to_string(MissingRule rule) { return word_of<MissingRule>(kMissing, rule); }
std::string_view to_string(ColumnKind kind) { return word_of<ColumnKind>(kKinds, kind); }
std::string_view to_string(TimeField field) { return word_of<TimeField>(kFields, field); }
std::string_view to_string(Decoding decoding) { return word_of<Decoding>(kDecodings, decoding); }

Strategy parse_strategy(std::string_view word) {
  return parse<Strategy>(kStrategies, "strategy", word);
}
QuantileMethod parse_quantile_method(std::string_view word) {
  return parse<QuantileMethod>(kMethods, "quantile", word);
}
Closed parse_closed(std::string_view word) { return parse<Closed>(kClosed, "closed", word); }
Duplicates parse_duplicates(std::string_view word) {
  return parse<Duplicates>(kDuplicates, "duplicates", word);
}
MissingRule parse_missing_rule(std::string_view word) {
  return parse<MissingRule>(kMissing, "missing", word);
}
ColumnKind parse_column_kind(std::string_view word) {
  return parse<ColumnKind>(kKinds, "column kind", word);
}
TimeField parse_time_field(std::string_view word) {
  return parse<TimeField>(kFields, "date field", word);
}
Decoding parse_decoding(std::string_view word) {
  return parse<Decoding>(kDecodings, "decoding", word);
}

void check(const Options& options) {
  check_bins(options.bins, "");
  if (!(options.min_width >= 0)) fail_options("min_width must not be negative");
  if (options.min_count < 1) fail_options("min_count must be at least 1");
  if (options.max_categories < 0) fail_options("max_categories must not be negative");
  if (options.unknown_buckets < 1 || options.unknown_buckets > (1 << 20)) {
    fail_options(fmt::format("unknown_buckets must be from 1 to {}, got {}", 1 << 20,
                             options.unknown_buckets));
  }
  if (!options.special_tokens.empty() && !options.global) {
    fail_options("special_tokens require one vocabulary for all columns; set global too");
  }
  for (const auto& [name, column] : options.columns) check_column(name, column);
}

}  // namespace causeway::tokenizer
