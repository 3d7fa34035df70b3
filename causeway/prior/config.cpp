#include "causeway/prior/config.h"

#include "causeway/core/config.h"
#include "causeway/core/count.h"
#include "causeway/core/error.h"
#include "causeway/prior/device/dataset.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <sstream>
#include <utility>

namespace causeway::prior {

namespace {

constexpr int kMostRows = 1 << 20;
constexpr int kMostClasses = 64;

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "prior", message);
}

int bound_of(std::string_view name, std::string_view text) {
  const auto value = parse_count(text);
  if (!value.has_value() || !std::in_range<int>(*value)) {
    refuse(fmt::format("{}: expected an integer, \"low:high\" or \"log low:high\", got \"{}\"",
                       name, text));
  }
  return static_cast<int>(*value);
}

void check_range(std::string_view name, const CountRange& range, int least, int most) {
  if (range.low < least || range.high > most || range.low > range.high) {
    refuse(fmt::format("{} {}: expected {} to {}, lower bound first", name, range.to_string(),
                       least, most));
  }
}

void check_share(std::string_view name, double low, double high, double most) {
  if (!(low >= 0.0 && low <= high && high <= most)) {
    refuse(fmt::format("{} {}:{}: expected fractions from 0 to {}, lower bound first", name, low,
                       high, most));
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
  range.low = bound_of(name, text.substr(0, colon));
  range.high = colon == std::string_view::npos ? range.low : bound_of(name, text.substr(colon + 1));
  return range;
}

std::string CountRange::to_string() const {
  if (low == high) return std::to_string(low);
  return fmt::format("{}{}:{}", logarithmic ? "log " : "", low, high);
}

const std::vector<std::string>& family_names() {
  static const std::vector<std::string> names = {"simple", "mlp",    "tree", "graph",
                                                 "rules",  "linear", "mix"};
  return names;
}

const std::vector<std::string>& rule_names() {
  static const std::vector<std::string> names = {"parity", "and",   "count",  "list",
                                                 "tree",   "lines", "lookup", "comparison"};
  return names;
}

namespace {

void check_weights(const char* name, const std::vector<double>& weights,
                   std::span<const std::string> names) {
  const bool counts =
      weights.size() <= names.size() &&
      std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; }) &&
      std::any_of(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (counts) return;
  refuse(fmt::format("{}: expected non-negative weights of {}, at least one of them positive", name,
                     fmt::join(names, ", ")));
}

}  // namespace

void PriorConfig::check() const {
  const auto& names = family_names();
  if (std::find(names.begin(), names.end(), family) == names.end()) {
    refuse(fmt::format("unknown prior family \"{}\"; expected one of {}", family,
                       fmt::join(names, ", ")));
  }
  check_range("rows", rows, 2, kMostRows);
  check_range("features", features, 1, kMostFeatures);
  if (!regression) {
    check_range("classes", classes, 2, kMostClasses);
    if (classes.high > rows.low) {
      refuse(fmt::format("classes {}: exceeds the {} rows per dataset", classes.to_string(),
                         rows.low));
    }
  }
  check_share("train fraction", train_low, train_high, 1.0);
  check_share("missing fraction", missing_low, missing_high, 0.5);
  if (min_nodes < 2 || max_nodes > kMostNodes || min_nodes > max_nodes) {
    refuse(fmt::format("nodes {}:{}: expected 2 to {}, lower bound first", min_nodes, max_nodes,
                       kMostNodes));
  }
  if (max_categories < 2 || max_categories > 1000) {
    refuse(fmt::format("max_categories {}: expected 2 to 1000", max_categories));
  }
  check_weights("rule_weights", rule_weights, rule_names());
  if (family == "mix") check_weights("mix", mix, std::span(names).first(kFamilies));
}

namespace {

Json count_to_json(const CountRange& range) { return range.to_string(); }

void count_from_json(const Json& json, CountRange& range) {
  try {
    if (json.is_array() && json.size() == 2 && json[0].is_number() && json[1].is_number()) {
      int low = 0;
      int high = 0;
      range_from_json(json, low, high);
      range = {low, high};
    } else if (json.is_number()) {
      int value = 0;
      value_from_json(json, value);
      range = {value, value};
    } else if (json.is_string()) {
      range = CountRange::parse("range", json.get<std::string>());
    } else {
      throw ValueExpected{};
    }
  } catch (const ValueExpected&) {
    throw ValueExpected{"an integer, low:high or \"log low:high\""};
  } catch (const Error&) {
    throw ValueExpected{"an integer, low:high or \"log low:high\""};
  }
}

// "mlp=0.3,rules=0.1" as an object.
Json named_weights(const std::string& text, const char* what) {
  Json weights = Json::object();
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      throw ValueExpected{fmt::format("weights as {}=weight", what)};
    }
    weights[part.substr(0, equals)] = json_of_text(part.substr(equals + 1));
  }
  return weights;
}

// Weights as an array in the order of the names, as an object by name, or as text of either. An
// object gives `least` weights or more.
void weights_from_json(const Json& json, const char* what, const std::vector<std::string>& names,
                       std::size_t least, std::vector<double>& weights) {
  if (json.is_string() && json.get<std::string>().find('=') != std::string::npos) {
    const Json named = named_weights(json.get<std::string>(), what);
    return weights_from_json(named, what, names, least, weights);
  }
  if (!json.is_object()) return value_from_json(json, weights);
  std::vector<double> given(least, 0.0);
  for (const auto& [name, weight] : json.items()) {
    const std::size_t at = name_from_json(name, names);
    if (at >= given.size()) given.resize(at + 1);
    value_from_json(weight, given[at]);
  }
  weights = given;
}

void mix_from_json(const Json& json, std::vector<double>& mix) {
  std::vector<std::string> names = family_names();
  names.pop_back();  // mix itself
  // Four weights are written as before there were more families.
  weights_from_json(json, "family", names, 4, mix);
}

void rules_from_json(const Json& json, std::vector<double>& rules) {
  weights_from_json(json, "rule", rule_names(), rule_names().size(), rules);
}

Json weights_to_json(const std::vector<double>& weights) { return weights; }

ConfigDescription<PriorConfig> make_description() {
  ConfigDescription<PriorConfig> d("prior");
  d.choice("family", &PriorConfig::family, family_names(), "Prior family").option_name("prior");
  d.custom("mix", &PriorConfig::mix, "FAMILY=W,...", weights_to_json, mix_from_json,
           "Weights of the families in a mix, by name or in the order of --prior");
  d.applies_if("mix", [](const PriorConfig& config) { return config.family == "mix"; });
  const auto count = [&](const char* name, CountRange PriorConfig::*member, const char* help) {
    d.custom(name, member, "RANGE", count_to_json, count_from_json, help);
  };
  count("rows", &PriorConfig::rows, "Rows per dataset");
  count("features", &PriorConfig::features, "Features per dataset");
  count("classes", &PriorConfig::classes, "Classes per dataset");
  d.applies_if("classes", [](const PriorConfig& config) { return !config.regression; });
  d.add("binary_share", &PriorConfig::binary_share,
        "Probability that a dataset has two classes, whatever --classes is")
      .between(0, 1);
  d.applies_if("binary_share", [](const PriorConfig& config) {
    return !config.regression && config.binary_share > 0;  // older configurations lack it
  });
  d.add("regression", &PriorConfig::regression, "Numeric target instead of classes");
  d.add("skewed_share", &PriorConfig::skewed_share,
        "Probability that a numeric target is skewed or rounded (not for simple)")
      .between(0, 1);
  d.applies_if("skewed_share", [](const PriorConfig& config) {
    return config.regression && config.skewed_share > 0;  // older configurations lack it
  });
  d.range("train_share", &PriorConfig::train_low, &PriorConfig::train_high,
          "Fraction of rows used as context, drawn per dataset")
      .between(0, 1);
  d.range("missing_share", &PriorConfig::missing_low, &PriorConfig::missing_high,
          "Fraction of cells that are missing, drawn per dataset")
      .between(0, 0.5)
      .option_name("missing");
  d.add("balanced", &PriorConfig::balanced, "Classes of equal size (not for graph and rules)");
  d.add("filter_constant", &PriorConfig::filter_constant, "Drop columns with a single value");
  d.add("filter_classes", &PriorConfig::filter_classes,
        "Require the same classes in context and query rows");
  d.add("filter_predictable", &PriorConfig::filter_predictable,
        "Require that a forest beats the mean (graph; mix except rules and linear)");
  d.add("filter_trivial", &PriorConfig::filter_trivial,
        "Reject datasets that a forest predicts almost perfectly");
  d.custom("rule_weights", &PriorConfig::rule_weights, "RULE=W,...", weights_to_json,
           rules_from_json,
           "Weights of the rules of the rules family, by name or as parity,and,count,list,tree,"
           "lines,lookup,comparison");
  d.applies_if("rule_weights", [](const PriorConfig& config) {
    return config.rule_weights != PriorConfig().rule_weights;  // older configurations lack it
  });
  d.range("nodes", &PriorConfig::min_nodes, &PriorConfig::max_nodes, "Nodes of a graph");
  d.add("edge_offset", &PriorConfig::edge_offset, "More edges above 0, fewer below");
  d.add("graph_noise", &PriorConfig::graph_noise, "Add noise at every node");
  d.add("max_categories", &PriorConfig::max_categories, "Maximum categories of a column")
      .between(2, 1000);
  d.add("reference_choices", &PriorConfig::reference_choices,
        "Reproduce a known bug of the reference: choices within a dataset are not correlated");
  d.add("reference_warps", &PriorConfig::reference_warps,
        "Reproduce a known bug of the reference: warps reach a node's children");
  d.add("reference_categories", &PriorConfig::reference_categories,
        "Reproduce a known bug of the reference: at most nine categories");
  d.add("seed", &PriorConfig::seed, "Random seed").option_only();
  return d;
}

}  // namespace

const ConfigDescription<PriorConfig>& describe_prior() {
  static const ConfigDescription<PriorConfig> description = make_description();
  return description;
}

std::string PriorConfig::to_json() const { return describe_prior().to_json(this).dump(); }

PriorConfig PriorConfig::from_json(std::string_view text) {
  PriorConfig config;
  try {
    describe_prior().read(&config, Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::format, "prior", fmt::format("not a prior configuration: {}", error.what()));
  }
  config.check();
  return config;
}

}  // namespace causeway::prior
