#include "causeway/tokenizer/artefact/artefact.h"
#include "causeway/tokenizer/artefact/hash.h"
#include "causeway/tokenizer/options_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::tokenizer {

namespace {

using OrderedJson = nlohmann::ordered_json;

void add_bins(const Column& column, OrderedJson& out) {
  const Bins& bins = column.bins;
  out["strategy"] = to_string(bins.strategy);
  out["closed"] = to_string(bins.closed);
  out["n_bins"] = bins.n_bins();
  out["edges"] = json_numbers(bins.edges);
  std::vector<double> centres;
  for (std::int64_t bin = 0; bin < bins.n_bins(); ++bin) centres.push_back(bins.centre(bin));
  out["centres"] = json_numbers(centres);
  if (!bins.medians.empty()) out["medians"] = json_numbers(bins.medians);
  if (!bins.counts.empty()) out["counts"] = bins.counts;
}

void add_vocabulary(const Column& column, OrderedJson& out) {
  out["unknown_buckets"] = column.vocabulary.unknown_buckets();
  out["n_unknown"] = column.vocabulary.n_unknown();
  out["values"] = column.vocabulary.values();
  if (!column.vocabulary.counts().empty()) out["counts"] = column.vocabulary.counts();
}

void add_times(const Column& column, OrderedJson& out) {
  OrderedJson fields = OrderedJson::array();
  for (const TimeField field : column.fields) fields.push_back(to_string(field));
  out["fields"] = fields;
  out["first_year"] = column.first_year;
  out["last_year"] = column.last_year;
}

OrderedJson column_json(const Column& column, std::int64_t offset) {
  OrderedJson out;
  out["name"] = column.name;
  out["kind"] = to_string(column.kind);
  out["dtype"] = column.dtype;
  out["first_token"] = offset;
  out["has_missing"] = column.has_missing;
  out["n_rows"] = column.n_rows;
  out["n_missing"] = column.n_missing;
  switch (column.kind) {
    case ColumnKind::numeric: add_bins(column, out); break;
    case ColumnKind::datetime: add_times(column, out); break;
    default: add_vocabulary(column, out);
  }
  out["checksum"] = fmt::format("{:016x}", checksum_of(column));
  return out;
}

}  // namespace

std::uint64_t checksum_of(const Column& column) {
  Hash hash;
  hash.add(column.name);
  hash.add(to_string(column.kind));
  hash.add(static_cast<std::int64_t>(column.has_missing));
  if (column.kind == ColumnKind::numeric) {
    hash.add(to_string(column.bins.closed));
    hash.add(column.bins.edges);
    hash.add(column.bins.medians);
  } else if (column.kind == ColumnKind::datetime) {
    for (const TimeField field : column.fields) hash.add(to_string(field));
    hash.add(column.first_year);
    hash.add(column.last_year);
  } else {
    hash.add(column.vocabulary.unknown_buckets());
    for (const std::string& value : column.vocabulary.values()) hash.add(value);
  }
  return hash.value();
}

std::string write_artefact(const Artefact& artefact) {
  const Options& options = artefact.options;
  OrderedJson out;
  out["format"] = "causeway-tokenizer";
  out["version"] = kArtefactVersion;
  out["source"] = artefact.source;
  out["options"] = {{"bins", options.bins},
                    {"strategy", to_string(options.strategy)},
                    {"quantile", to_string(options.quantile)},
                    {"closed", to_string(options.closed)},
                    {"duplicates", to_string(options.duplicates)},
                    {"min_width", options.min_width},
                    {"missing", to_string(options.missing)},
                    {"min_count", options.min_count},
                    {"max_categories", options.max_categories},
                    {"unknown_buckets", options.unknown_buckets},
                    {"global", options.global}};
  out["special_tokens"] = options.special_tokens;
  out["columns"] = OrderedJson::array();
  for (std::size_t i = 0; i < artefact.columns.size(); ++i) {
    out["columns"].push_back(column_json(artefact.columns[i], artefact.offsets[i]));
  }
  // Invalid UTF-8 in names is written as replacement characters.
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace causeway::tokenizer
