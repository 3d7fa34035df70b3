#include "causeway/tokenizer/artefact/export.h"

#include "causeway/core/error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>

namespace causeway::tokenizer {

namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_of(const OrderedJson& json) {
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// Tokens must be single words: separators become underscores.
std::string word_of(std::string_view text) {
  std::string word(text);
  for (char& letter : word) {
    if (static_cast<unsigned char>(letter) <= ' ') letter = '_';
  }
  return word;
}

OrderedJson special(std::int64_t id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

OrderedJson number(double value) {
  if (std::isfinite(value)) return value;
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

std::vector<std::string> token_names(const Tokenizer& tokenizer, const Slot& slot) {
  const Column& column = tokenizer.columns()[static_cast<std::size_t>(slot.column)];
  std::vector<std::string> names;
  const std::string stem = word_of(slot.name) + "_";
  const bool lists = column.kind == ColumnKind::categorical || column.kind == ColumnKind::boolean;
  for (std::int64_t i = 0; i < slot.n_values; ++i) {
    const std::int64_t shift = column.kind != ColumnKind::datetime ? 0
                               : slot.field == TimeField::year     ? column.first_year
                               : slot.field == TimeField::month || slot.field == TimeField::day ? 1
                                                                                                : 0;
    names.push_back(stem + (lists ? word_of(column.vocabulary.values()[static_cast<std::size_t>(i)])
                                  : std::to_string(shift + i)));
  }
  for (std::int64_t i = 0; i < slot.n_unknown; ++i) {
    names.push_back(stem + (slot.n_unknown == 1 ? "[UNK]" : fmt::format("[UNK{}]", i)));
  }
  if (slot.has_missing) names.push_back(stem + "[NAN]");
  return names;
}

std::string export_hugging_face(const Tokenizer& tokenizer) {
  OrderedJson added = OrderedJson::array();
  OrderedJson vocabulary = OrderedJson::object();
  std::set<std::string> taken;
  std::int64_t next = 0;
  const auto add = [&](std::string name) {
    while (!taken.insert(name).second) name += "'";  // "a b" and "a_b" are both a_b
    vocabulary[name] = next++;
  };
  for (const std::string& token : tokenizer.options().special_tokens) {
    added.push_back(special(next, token));
    add(token);
  }
  for (const Slot& slot : tokenizer.slots()) {
    for (std::string& name : token_names(tokenizer, slot)) add(std::move(name));
  }
  if (!taken.contains("[UNK]")) {
    added.push_back(special(next, "[UNK]"));
    add("[UNK]");
  }
  OrderedJson out;
  out["version"] = "1.0";
  out["truncation"] = nullptr;
  out["padding"] = nullptr;
  out["added_tokens"] = added;
  out["normalizer"] = nullptr;
  out["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  out["post_processor"] = nullptr;
  out["decoder"] = nullptr;
  out["model"] = {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}};
  return text_of(out);
}

std::string export_lightgbm(const Tokenizer& tokenizer) {
  OrderedJson out = OrderedJson::array();
  for (std::size_t c = 0; c < tokenizer.columns().size(); ++c) {
    const Column& column = tokenizer.columns()[c];
    if (column.kind != ColumnKind::numeric) continue;
    OrderedJson bounds = OrderedJson::array();
    for (std::size_t i = 1; i + 1 < column.bins.edges.size(); ++i) {
      const double edge = column.bins.edges[i];
      bounds.push_back(
          number(column.bins.closed == Closed::right ? edge : std::nextafter(edge, -kInfinity)));
    }
    out.push_back({{"feature", c}, {"bin_upper_bound", bounds}});
  }
  return text_of(out);
}

std::string export_xgboost(const Tokenizer& tokenizer) {
  OrderedJson indptr = OrderedJson::array({0});
  OrderedJson values = OrderedJson::array();
  for (const Column& column : tokenizer.columns()) {
    if (column.kind != ColumnKind::numeric) continue;
    const auto& edges = column.bins.edges;
    for (std::size_t i = 1; i + 1 < edges.size(); ++i) {
      values.push_back(number(
          column.bins.closed == Closed::left ? edges[i] : std::nextafter(edges[i], kInfinity)));
    }
    values.push_back(number(edges.back() + (std::fabs(edges.back()) + 1e-5)));
    indptr.push_back(values.size());
  }
  return text_of({{"indptr", indptr}, {"values", values}});
}

std::string export_scikit_learn(const Tokenizer& tokenizer) {
  OrderedJson out = OrderedJson::array();
  for (const Column& column : tokenizer.columns()) {
    if (column.kind != ColumnKind::numeric) continue;
    OrderedJson edges = OrderedJson::array();
    if (column.bins.n_bins() == 1) {
      edges = {"-inf", "inf"};
    } else {
      for (const double edge : column.bins.edges) edges.push_back(number(edge));
    }
    out.push_back({{"name", column.name}, {"bin_edges", edges}});
  }
  return text_of(out);
}

std::string export_as(const Tokenizer& tokenizer, std::string_view format) {
  if (format == "hugging-face") return export_hugging_face(tokenizer);
  if (format == "lightgbm") return export_lightgbm(tokenizer);
  if (format == "xgboost") return export_xgboost(tokenizer);
  if (format == "scikit-learn") return export_scikit_learn(tokenizer);
  fail(ErrorKind::invalid_argument, "tokenizer.export",
       fmt::format(
           "unknown format; expected hugging-face, lightgbm, xgboost or scikit-learn, got \"{}\"",
           format));
}

}  // namespace causeway::tokenizer
