#include "causeway/prior/config.h"

#include "causeway/core/error.h"
#include "causeway/prior/device/dataset.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace causeway::prior {

namespace {

constexpr int kMostRows = 1 << 20;
constexpr int kMostClasses = 64;

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "prior", message);
}

int parse_count(std::string_view name, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(fmt::format("{}: expected a whole number, \"low:high\" or \"log low:high\", got \"{}\"",
                       name, text));
  }
  return value;
}

void check_range(std::string_view name, const CountRange& range, int least, int most) {
  if (range.low < least || range.high > most || range.low > range.high) {
    refuse(fmt::format("{} {}: expected {} to {}, the lower end first", name, range.to_string(),
                       least, most));
  }
}

void check_share(std::string_view name, double low, double high, double most) {
  if (!(low >= 0.0 && low <= high && high <= most)) {
    refuse(fmt::format("{} {}:{}: expected shares from 0 to {}, the lower first", name, low, high,
                       most));
  }
}

}  // namespace

CountRange CountRange::parse(std::string_view name, std::string_view text) {
  CountRange range;
  constexpr std::string_view kLog = "log ";
  if (text.substr(0, kLog.size()) == kLog) {
    range.logarithmic = true;
    text.remove_prefix(kLog.size());
  }
  const std::size_t colon = text.find(':');
  range.low = parse_count(name, text.substr(0, colon));
  range.high =
      colon == std::string_view::npos ? range.low : parse_count(name, text.substr(colon + 1));
  return range;
}

std::string CountRange::to_string() const {
  if (low == high) return std::to_string(low);
  return fmt::format("{}{}:{}", logarithmic ? "log " : "", low, high);
}

const std::vector<std::string>& family_names() {
  static const std::vector<std::string> names = {"simple", "mlp", "tree", "graph", "mix"};
  return names;
}

void PriorConfig::check() const {
  const auto& names = family_names();
  if (std::find(names.begin(), names.end(), family) == names.end()) {
    refuse(fmt::format("no family is called \"{}\"; there are {}", family, fmt::join(names, ", ")));
  }
  check_range("rows", rows, 2, kMostRows);
  check_range("features", features, 1, kMostFeatures);
  if (!regression) {
    check_range("classes", classes, 2, kMostClasses);
    if (classes.high > rows.low) {
      refuse(fmt::format("classes {}: more than the {} rows of a dataset", classes.to_string(),
                         rows.low));
    }
  }
  check_share("train share", train_low, train_high, 1.0);
  check_share("missing share", missing_low, missing_high, 0.5);
  if (min_nodes < 2 || max_nodes > kMostNodes || min_nodes > max_nodes) {
    refuse(fmt::format("nodes {}:{}: expected 2 to {}, the lower end first", min_nodes, max_nodes,
                       kMostNodes));
  }
  if (max_categories < 2 || max_categories > 1000) {
    refuse(fmt::format("max_categories {}: expected 2 to 1000", max_categories));
  }
  if (family != "mix") return;
  const bool counts = mix.size() == kFamilies &&
                      std::all_of(mix.begin(), mix.end(), [](double w) { return w >= 0.0; }) &&
                      std::any_of(mix.begin(), mix.end(), [](double w) { return w > 0.0; });
  if (!counts) {
    refuse(
        "mix: expected four weights, none below 0 and one above, of simple, mlp, tree and graph");
  }
}

std::string PriorConfig::to_json() const {
  nlohmann::ordered_json json;
  json["family"] = family;
  if (family == "mix") json["mix"] = mix;
  json["rows"] = rows.to_string();
  json["features"] = features.to_string();
  if (!regression) json["classes"] = classes.to_string();
  json["regression"] = regression;
  json["train_share"] = {train_low, train_high};
  json["missing_share"] = {missing_low, missing_high};
  json["balanced"] = balanced;
  json["filter_constant"] = filter_constant;
  json["filter_classes"] = filter_classes;
  json["filter_predictable"] = filter_predictable;
  json["filter_trivial"] = filter_trivial;
  json["nodes"] = {min_nodes, max_nodes};
  json["edge_offset"] = edge_offset;
  json["graph_noise"] = graph_noise;
  json["max_categories"] = max_categories;
  json["reference_choices"] = reference_choices;
  json["reference_warps"] = reference_warps;
  json["reference_categories"] = reference_categories;
  return json.dump();
}

PriorConfig PriorConfig::from_json(std::string_view text) {
  PriorConfig config;
  try {
    const auto json = nlohmann::json::parse(text);
    config.family = json.at("family").get<std::string>();
    if (json.contains("mix")) config.mix = json.at("mix").get<std::vector<double>>();
    config.rows = CountRange::parse("rows", json.at("rows").get<std::string>());
    config.features = CountRange::parse("features", json.at("features").get<std::string>());
    config.regression = json.at("regression").get<bool>();
    if (!config.regression) {
      config.classes = CountRange::parse("classes", json.at("classes").get<std::string>());
    }
    config.train_low = json.at("train_share").at(0).get<double>();
    config.train_high = json.at("train_share").at(1).get<double>();
    config.missing_low = json.at("missing_share").at(0).get<double>();
    config.missing_high = json.at("missing_share").at(1).get<double>();
    config.balanced = json.at("balanced").get<bool>();
    config.filter_constant = json.at("filter_constant").get<bool>();
    config.filter_classes = json.at("filter_classes").get<bool>();
    config.filter_predictable = json.at("filter_predictable").get<bool>();
    config.filter_trivial = json.at("filter_trivial").get<bool>();
    config.min_nodes = json.at("nodes").at(0).get<int>();
    config.max_nodes = json.at("nodes").at(1).get<int>();
    config.edge_offset = json.at("edge_offset").get<double>();
    config.graph_noise = json.at("graph_noise").get<bool>();
    config.max_categories = json.at("max_categories").get<int>();
    config.reference_choices = json.at("reference_choices").get<bool>();
    config.reference_warps = json.at("reference_warps").get<bool>();
    config.reference_categories = json.at("reference_categories").get<bool>();
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::format, "prior", fmt::format("not a prior's configuration: {}", error.what()));
  }
  config.check();
  return config;
}

}  // namespace causeway::prior
