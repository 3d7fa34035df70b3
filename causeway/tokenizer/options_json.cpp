#include "causeway/tokenizer/options_json.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace causeway::tokenizer {

namespace {

void read_number_list(const Json& json, std::vector<double>& values) {
  if (!json.is_array()) throw ValueExpected{"a list of numbers"};
  values.clear();
  for (const Json& value : json) values.push_back(read_number(value));
}

Json fields_json(const std::vector<TimeField>& fields) {
  Json list = Json::array();
  for (const TimeField field : fields) list.push_back(to_string(field));
  return list;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Json column_json(const ColumnOptions& options) {
  Json out = Json::object();
  if (options.kind.has_value()) out["kind"] = to_string(*options.kind);
  if (options.bins.has_value()) out["bins"] = *options.bins;
  if (options.strategy.has_value()) out["strategy"] = to_string(*options.strategy);
  if (!options.edges.empty()) out["edges"] = json_numbers(options.edges);
  if (!options.levels.empty()) out["levels"] = json_numbers(options.levels);
  if (!options.fields.empty()) out["fields"] = fields_json(options.fields);
  return out;
}

// Names of an enumeration's values, from 0 up.
template <class E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  while (true) {
    const std::string_view name = to_string(static_cast<E>(names.size()));
    if (name.empty()) return names;
    names.emplace_back(name);
  }
}

void fields_from_json(const Json& json, std::vector<TimeField>& fields) {
  std::vector<std::string> names;
  value_from_json(json, names);
  if (json.is_string()) names = split_list(json.get<std::string>());
  fields.clear();
  for (const std::string& name : names) {
    fields.push_back(static_cast<TimeField>(name_from_json(name, names_of<TimeField>())));
  }
}

// An optional enumeration.
template <class E>
void optional_from_json(const Json& json, std::optional<E>& value) {
  value = static_cast<E>(name_from_json(json, names_of<E>()));
}

template <class T>
Json unused_json(const std::optional<T>&) {
  return Json();
}

ConfigDescription<ColumnOptions> make_column_description() {
  using Own = ColumnOptions;
  ConfigDescription<Own> d("tokenizer");
  const auto numbers = +[](const std::vector<double>& values) { return json_numbers(values); };
  const auto bins = +[](const Json& json, std::optional<std::int64_t>& value) {
    value_from_json(json, value.emplace());
  };
  d.custom("kind", &Own::kind, "", unused_json, optional_from_json<ColumnKind>, "");
  d.custom("bins", &Own::bins, "", unused_json, bins, "");
  d.custom("strategy", &Own::strategy, "", unused_json, optional_from_json<Strategy>, "");
  d.custom("edges", &Own::edges, "", numbers, read_number_list, "");
  d.custom("levels", &Own::levels, "", numbers, read_number_list, "");
  d.custom("fields", &Own::fields, "", fields_json, fields_from_json, "");
  return d;
}

ColumnOptions read_column(const std::string& name, const Json& json) {
  static const ConfigDescription<ColumnOptions> description = make_column_description();
  ColumnOptions options;
  with_context(fmt::format("reading the options of column {}", shown(name)),
               [&] { description.read(&options, json); });
  return options;
}

std::string words(const Json& value) {
  if (value.is_string()) return shown(value.get<std::string>());
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 80);
}

}  // namespace

nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double read_number(const nlohmann::ordered_json& json) {
  if (json.is_number()) return json.get<double>();
  const auto word = json.get<std::string>();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

nlohmann::ordered_json json_numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

namespace {

void tokens_from_json(const Json& json, std::vector<std::string>& tokens) {
  value_from_json(json, tokens);
  if (json.is_string()) tokens = split_list(json.get<std::string>());
}

Json columns_to_json(const std::map<std::string, ColumnOptions>& columns) {
  Json json = Json::object();
  for (const auto& [name, own] : columns) json[name] = column_json(own);
  return json;
}

void columns_from_json(const Json& json, std::map<std::string, ColumnOptions>& columns) {
  if (!json.is_object()) throw ValueExpected{"an object of options by column name"};
  std::map<std::string, ColumnOptions> made;
  for (const auto& [name, own] : json.items()) made[name] = read_column(name, own);
  columns = made;
}

ConfigDescription<Options> make_description() {
  ConfigDescription<Options> d("tokenizer");
  d.add("bins", &Options::bins, "Bins of a numeric column");
  d.choice("strategy", &Options::strategy, names_of<Strategy>(), "How bin edges are placed");
  d.choice("quantile", &Options::quantile, names_of<QuantileMethod>(),
           "Quantile method, as in NumPy");
  d.choice("closed", &Options::closed, names_of<Closed>(), "Closed side of a bin");
  d.choice("duplicates", &Options::duplicates, names_of<Duplicates>(), "Edges that coincide");
  d.custom(
      "min_width", &Options::min_width, "X",
      +[](const double& value) { return json_number(value); },
      +[](const Json& json, double& value) { value = read_number(json); },
      "Narrower bins are dropped");
  d.choice("missing", &Options::missing, names_of<MissingRule>(), "Token for missing values")
      .option_name("missing-token");
  d.add("statistics", &Options::statistics, "Keep counts and medians of the bins");
  d.add("min_count", &Options::min_count, "Rarer categories are unknown");
  d.add("max_categories", &Options::max_categories, "Maximum categories of a column");
  d.add("unknown_buckets", &Options::unknown_buckets, "Tokens shared by unknown categories");
  d.custom("fields", &Options::fields, "NAME,...", fields_json, fields_from_json,
           "Parts of dates: year, month, day, weekday, hour, minute, second")
      .defaults_to("those that vary");
  d.add("global", &Options::global, "One vocabulary for all columns");
  d.custom(
       "special_tokens", &Options::special_tokens, "NAME,...",
       +[](const std::vector<std::string>& tokens) { return Json(tokens); }, tokens_from_json,
       "First tokens of that vocabulary")
      .defaults_to("none");
  d.custom("columns", &Options::columns, "JSON", columns_to_json, columns_from_json,
           "Options of single columns")
      .json_only();
  return d;
}

}  // namespace

const ConfigDescription<Options>& describe_options() {
  static const ConfigDescription<Options> description = make_description();
  return description;
}

nlohmann::ordered_json options_json(const Options& options) {
  return describe_options().to_json(&options);
}

Options read_options(const nlohmann::ordered_json& json) {
  Options options;
  describe_options().read(&options, json);
  check(options);
  return options;
}

std::string options_difference(const Options& a, const Options& b) {
  const Json first = options_json(a), second = options_json(b);
  for (const auto& [key, value] : first.items()) {
    if (value == second.at(key)) continue;
    return fmt::format("{} is {} in one and {} in the other", key, words(value),
                       words(second.at(key)));
  }
  return "";
}

}  // namespace causeway::tokenizer
