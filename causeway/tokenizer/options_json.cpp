#include "causeway/tokenizer/options_json.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace causeway::tokenizer {

namespace {

using Json = nlohmann::ordered_json;

std::vector<double> read_numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(read_number(value));
  return values;
}

Json fields_json(const std::vector<TimeField>& fields) {
  Json list = Json::array();
  for (const TimeField field : fields) list.push_back(to_string(field));
  return list;
}

std::vector<TimeField> read_fields(const Json& json) {
  std::vector<TimeField> fields;
  for (const Json& field : json) fields.push_back(parse_time_field(field.get<std::string>()));
  return fields;
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

ColumnOptions read_column(const Json& json) {
  ColumnOptions options;
  const auto text = [&](const char* key) { return json.at(key).get<std::string>(); };
  if (json.contains("kind")) options.kind = parse_column_kind(text("kind"));
  if (json.contains("bins")) options.bins = json.at("bins").get<std::int64_t>();
  if (json.contains("strategy")) options.strategy = parse_strategy(text("strategy"));
  if (json.contains("edges")) options.edges = read_numbers(json.at("edges"));
  if (json.contains("levels")) options.levels = read_numbers(json.at("levels"));
  if (json.contains("fields")) options.fields = read_fields(json.at("fields"));
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

nlohmann::ordered_json options_json(const Options& options) {
  Json out = {{"bins", options.bins},
              {"strategy", to_string(options.strategy)},
              {"quantile", to_string(options.quantile)},
              {"closed", to_string(options.closed)},
              {"duplicates", to_string(options.duplicates)},
              {"min_width", json_number(options.min_width)},
              {"missing", to_string(options.missing)},
              {"statistics", options.statistics},
              {"min_count", options.min_count},
              {"max_categories", options.max_categories},
              {"unknown_buckets", options.unknown_buckets},
              {"fields", fields_json(options.fields)},
              {"global", options.global},
              {"special_tokens", options.special_tokens}};
  out["columns"] = Json::object();
  for (const auto& [name, own] : options.columns) out["columns"][name] = column_json(own);
  return out;
}

Options read_options(const nlohmann::ordered_json& json) {
  Options options;
  const auto text = [&](const char* key) { return json.at(key).get<std::string>(); };
  options.bins = json.at("bins").get<std::int64_t>();
  options.strategy = parse_strategy(text("strategy"));
  options.quantile = parse_quantile_method(text("quantile"));
  options.closed = parse_closed(text("closed"));
  options.duplicates = parse_duplicates(text("duplicates"));
  options.min_width = read_number(json.at("min_width"));
  options.missing = parse_missing_rule(text("missing"));
  options.statistics = json.at("statistics").get<bool>();
  options.min_count = json.at("min_count").get<std::int64_t>();
  options.max_categories = json.at("max_categories").get<std::int64_t>();
  options.unknown_buckets = json.at("unknown_buckets").get<std::int64_t>();
  options.fields = read_fields(json.at("fields"));
  options.global = json.at("global").get<bool>();
  options.special_tokens = json.at("special_tokens").get<std::vector<std::string>>();
  for (const auto& [name, own] : json.at("columns").items()) {
    options.columns[name] = read_column(own);
  }
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
