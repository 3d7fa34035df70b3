#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/tokenizer/artefact/artefact.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>

namespace causeway::tokenizer {

namespace {

using Json = nlohmann::json;
constexpr std::int64_t kMostColumns = 1 << 20;

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Artefact read(std::string_view text);

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    const std::string file = name_.empty() ? "" : fmt::format("\"{}\": ", name_);
    fail(ErrorKind::format, "tokenizer.load", file + where_ + message);
  }

  Json parse(std::string_view text) const;
  const Json& get(const Json& object, const char* key) const;
  std::string text(const Json& object, const char* key) const;
  std::int64_t integer(const Json& object, const char* key, std::int64_t low,
                       std::int64_t high) const;
  bool boolean(const Json& object, const char* key) const;
  double number(const Json& value, const char* key) const;
  std::vector<double> numbers(const Json& object, const char* key) const;
  std::vector<std::int64_t> counts(const Json& object, std::size_t size) const;
  std::vector<std::string> texts(const Json& object, const char* key) const;
  // Parses an enumeration; adds the location to its error.
  template <class Parse>
  auto word(const Json& object, const char* key, Parse parse_word) const;

  Options read_options(const Json& json) const;
  Column read_column(const Json& json) const;
  void read_bins(const Json& json, Column& column) const;
  void read_vocabulary(const Json& json, Column& column) const;
  void read_times(const Json& json, Column& column) const;

  std::string name_;
  std::string where_;
};

Json Reader::parse(std::string_view text) const {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {  // not JSON, or a number out of range for f64
    // "[json.exception.parse_error.101] parse error at line 3, column 7: …"
    std::string_view reason = error.what();
    reason.remove_prefix(std::min(reason.find("] ") + 2, reason.size()));
    reason = reason.substr(0, reason.find("; last read"));
    refuse(fmt::format("not JSON: {}; copy the file again, or fit again", shown(reason)));
  }
}

const Json& Reader::get(const Json& object, const char* key) const {
  const auto found = object.find(key);
  if (found == object.end()) refuse(fmt::format("key \"{}\" is missing; fit again", key));
  return *found;
}

std::string Reader::text(const Json& object, const char* key) const {
  const Json& value = get(object, key);
  if (!value.is_string()) refuse(fmt::format("expected \"{}\" to be a string", key));
  return value.get<std::string>();
}

std::int64_t Reader::integer(const Json& object, const char* key, std::int64_t low,
                             std::int64_t high) const {
  const Json& value = get(object, key);
  const bool huge =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!value.is_number_integer() || huge || value.get<std::int64_t>() < low ||
      value.get<std::int64_t>() > high) {
    refuse(fmt::format("expected \"{}\" to be an integer from {} to {}", key, low, high));
  }
  return value.get<std::int64_t>();
}

bool Reader::boolean(const Json& object, const char* key) const {
  const Json& value = get(object, key);
  if (!value.is_boolean()) refuse(fmt::format("expected \"{}\" to be true or false", key));
  return value.get<bool>();
}

double Reader::number(const Json& value, const char* key) const {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  refuse(fmt::format("expected \"{}\" to contain numbers, \"inf\" or \"-inf\"", key));
}

std::vector<double> Reader::numbers(const Json& object, const char* key) const {
  const Json& list = get(object, key);
  if (!list.is_array()) refuse(fmt::format("expected \"{}\" to be a list", key));
  std::vector<double> values;
  for (const Json& value : list) values.push_back(number(value, key));
  return values;
}

std::vector<std::int64_t> Reader::counts(const Json& object, std::size_t size) const {
  std::vector<std::int64_t> values;
  if (!object.contains("counts")) return values;
  for (const double value : numbers(object, "counts")) {
    if (!(value >= 0 && value < 9.2e18)) refuse("expected \"counts\" to be non-negative");
    values.push_back(static_cast<std::int64_t>(value));
  }
  if (values.size() != size) {
    refuse(fmt::format("{} counts for {} bins or values; the file was edited, fit again",
                       values.size(), size));
  }
  return values;
}

std::vector<std::string> Reader::texts(const Json& object, const char* key) const {
  const Json& list = get(object, key);
  if (!list.is_array()) refuse(fmt::format("expected \"{}\" to be a list", key));
  std::vector<std::string> values;
  for (const Json& value : list) {
    if (!value.is_string()) refuse(fmt::format("expected \"{}\" to contain strings", key));
    values.push_back(value.get<std::string>());
  }
  return values;
}

template <class Parse>
auto Reader::word(const Json& object, const char* key, Parse parse_word) const {
  const std::string given = text(object, key);
  try {
    return parse_word(given);
  } catch (const Error&) {
    refuse(fmt::format("invalid value for \"{}\": {}", key, shown(given)));
  }
}

Options Reader::read_options(const Json& json) const {
  if (!json.is_object()) refuse("expected \"options\" to be an object");
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  Options options;
  options.bins = integer(json, "bins", 1, kMostBins);
  options.strategy = word(json, "strategy", parse_strategy);
  options.quantile = word(json, "quantile", parse_quantile_method);
  options.closed = word(json, "closed", parse_closed);
  options.duplicates = word(json, "duplicates", parse_duplicates);
  options.min_width = number(get(json, "min_width"), "min_width");
  options.missing = word(json, "missing", parse_missing_rule);
  options.min_count = integer(json, "min_count", 1, kMany);
  options.max_categories = integer(json, "max_categories", 0, kMany);
  options.unknown_buckets = integer(json, "unknown_buckets", 1, 1 << 20);
  options.global = boolean(json, "global");
  return options;
}

void Reader::read_bins(const Json& json, Column& column) const {
  column.bins.strategy = word(json, "strategy", parse_strategy);
  column.bins.closed = word(json, "closed", parse_closed);
  column.bins.edges = numbers(json, "edges");
  const std::vector<double>& edges = column.bins.edges;
  if (edges.size() < 2 || edges.size() > static_cast<std::size_t>(kMostBins) + 1) {
    refuse(fmt::format("expected 2 to {} edges, got {}", kMostBins + 1, edges.size()));
  }
  for (std::size_t i = 1; i < edges.size(); ++i) {
    if (edges[i] < edges[i - 1]) {
      refuse(fmt::format(
          "edges must be in ascending order, but entry {} is {} after {}; the file was edited, fit "
          "again",
          i, edges[i], edges[i - 1]));
    }
  }
  column.bins.counts = counts(json, edges.size() - 1);
  if (json.contains("medians")) {
    column.bins.medians = numbers(json, "medians");
    if (column.bins.medians.size() != edges.size() - 1) refuse("expected one median per bin");
  }
}

void Reader::read_vocabulary(const Json& json, Column& column) const {
  std::vector<std::string> values = texts(json, "values");
  const bool truth = column.kind == ColumnKind::boolean;
  if (std::set<std::string_view>(values.begin(), values.end()).size() != values.size()) {
    refuse("duplicate value; the file was edited, fit again");
  }
  if (truth && values != std::vector<std::string>{"false", "true"}) {
    refuse("expected the values of a boolean column to be \"false\" and \"true\"");
  }
  const std::int64_t buckets = integer(json, "unknown_buckets", truth ? 0 : 1, truth ? 0 : 1 << 20);
  const std::int64_t unknown = integer(json, "n_unknown", 0, std::int64_t{1} << 62);
  std::vector<std::int64_t> numbers = counts(json, values.size());
  column.vocabulary = Vocabulary(std::move(values), std::move(numbers), buckets, unknown);
}

void Reader::read_times(const Json& json, Column& column) const {
  constexpr std::int64_t kFar = 1000000000;
  for (const std::string& field : texts(json, "fields")) {
    try {
      column.fields.push_back(parse_time_field(field));
    } catch (const Error&) {
      refuse(fmt::format("{} is not a date field", shown(field)));
    }
  }
  if (column.fields.empty() || column.fields.size() > 7) refuse("expected 1 to 7 fields");
  column.first_year = integer(json, "first_year", -kFar, kFar);
  column.last_year = integer(json, "last_year", column.first_year, column.first_year + 9999);
}

Column Reader::read_column(const Json& json) const {
  if (!json.is_object()) refuse("expected an object");
  Column column;
  column.name = text(json, "name");
  column.kind = word(json, "kind", parse_column_kind);
  column.dtype = text(json, "dtype");
  column.has_missing = boolean(json, "has_missing");
  column.n_rows = integer(json, "n_rows", 0, std::int64_t{1} << 62);
  column.n_missing = integer(json, "n_missing", 0, column.n_rows);
  switch (column.kind) {
    case ColumnKind::numeric: read_bins(json, column); break;
    case ColumnKind::datetime: read_times(json, column); break;
    default: read_vocabulary(json, column);
  }
  if (text(json, "checksum") != fmt::format("{:016x}", checksum_of(column))) {
    refuse(
        "the content does not match its checksum; the file was edited: restore it, or fit again");
  }
  return column;
}

Artefact Reader::read(std::string_view text_) {
  const Json json = parse(text_);
  if (!json.is_object() || !json.contains("format") || json["format"] != "causeway-tokenizer") {
    refuse("expected a tokenizer file, with \"format\": \"causeway-tokenizer\"");
  }
  const Json& version = get(json, "version");
  if (version != kArtefactVersion) {
    refuse(fmt::format(
        "expected version {}, got {}; fit again with this program, or read it with the "
        "one that wrote it",
        kArtefactVersion, shown(version.dump(-1, ' ', true, Json::error_handler_t::replace))));
  }
  Artefact artefact;
  artefact.source = text(json, "source");
  artefact.options = read_options(get(json, "options"));
  artefact.options.special_tokens = texts(json, "special_tokens");
  if (!artefact.options.special_tokens.empty() && !artefact.options.global) {
    refuse("special tokens require \"global\"");
  }
  const Json& columns = get(json, "columns");
  if (!columns.is_array() || columns.empty() || columns.size() > kMostColumns) {
    refuse("expected \"columns\" to be a list of columns");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    where_ = fmt::format("column {}: ", i);
    const bool named =
        columns[i].is_object() && columns[i].contains("name") && columns[i]["name"].is_string();
    if (named)
      where_ = fmt::format("column {} {}: ", i, shown(columns[i]["name"].get<std::string>()));
    artefact.columns.push_back(read_column(columns[i]));
    if (!names.insert(artefact.columns.back().name).second) refuse("duplicate column name");
  }
  return artefact;
}

}  // namespace

Artefact read_artefact(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

}  // namespace causeway::tokenizer
