#include "python/tokenizer_options.h"

#include "causeway/core/error.h"

#include <nanobind/stl/vector.h>

namespace causeway::python {

using namespace causeway::tokenizer;

namespace {

std::vector<double> doubles_of(nb::handle list) {
  std::vector<double> values;
  for (nb::handle item : list) values.push_back(nb::cast<double>(item));
  return values;
}

std::vector<TimeField> fields_of(nb::handle list) {
  std::vector<TimeField> fields;
  if (list.is_none()) return fields;
  for (nb::handle item : list) fields.push_back(parse_time_field(nb::cast<std::string>(item)));
  return fields;
}

ColumnOptions column_options(const std::string& name, nb::handle given) {
  ColumnOptions options;
  for (auto [key, value] : nb::cast<nb::dict>(given)) {
    const auto word = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    if (word == "kind") {
      options.kind = parse_column_kind(nb::cast<std::string>(value));
    } else if (word == "bins") {
      options.bins = nb::cast<std::int64_t>(value);
    } else if (word == "strategy") {
      options.strategy = parse_strategy(nb::cast<std::string>(value));
    } else if (word == "edges") {
      options.edges = doubles_of(value);
    } else if (word == "levels") {
      options.levels = doubles_of(value);
    } else if (word == "fields") {
      options.fields = fields_of(value);
    } else {
      fail(ErrorKind::invalid_argument, "tokenizer",
           "column \"" + name +
               "\": options are kind, bins, strategy, edges, levels, fields; got \"" + word + "\"");
    }
  }
  return options;
}

}  // namespace

Options options_of(const nb::dict& given) {
  Options options;
  const auto text = [&](const char* key) { return nb::cast<std::string>(nb::object(given[key])); };
  const auto integer = [&](const char* key) {
    return nb::cast<std::int64_t>(nb::object(given[key]));
  };
  options.bins = integer("bins");
  options.strategy = parse_strategy(text("strategy"));
  options.quantile = parse_quantile_method(text("quantile"));
  options.closed = parse_closed(text("closed"));
  options.duplicates = parse_duplicates(text("duplicates"));
  options.min_width = nb::cast<double>(nb::object(given["min_width"]));
  options.missing = parse_missing_rule(text("missing"));
  options.statistics = nb::cast<bool>(nb::object(given["statistics"]));
  options.min_count = integer("min_count");
  options.max_categories = integer("max_categories");
  options.unknown_buckets = integer("unknown_buckets");
  options.fields = fields_of(nb::object(given["fields"]));
  options.global = nb::cast<bool>(nb::object(given["global_ids"]));
  options.special_tokens = nb::cast<std::vector<std::string>>(nb::object(given["special_tokens"]));
  for (auto [name, column] : nb::cast<nb::dict>(nb::object(given["columns"]))) {
    const auto key = nb::cast<std::string>(name);
    options.columns[key] = column_options(key, column);
  }
  return options;
}

}  // namespace causeway::python
