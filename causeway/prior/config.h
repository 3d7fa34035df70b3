// The configuration of a prior.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::prior {

struct Recipe;

// An integer per dataset: fixed, or drawn uniformly or log-uniformly from an inclusive range.
// Written "1024", "1:100" or "log 400:10240".
struct CountRange {
  int low = 1;
  int high = 1;
  bool logarithmic = false;

  static CountRange parse(std::string_view name, std::string_view text);
  std::string to_string() const;
};

struct PriorConfig {
  std::string family = "graph";  // one of family_names()
  // Weights of the families of a mix, in the order of family_names(); absent ones are 0.
  std::vector<double> mix = {0.0, 0.35, 0.15, 0.5};
  CountRange rows = {1024, 1024};
  CountRange features = {1, 100};
  CountRange classes = {2, 10};
  double binary_share = 0.0;  // probability of two classes instead of a number from `classes`
  bool regression = false;
  double skewed_share = 0.0;  // probability that a numeric target is skewed or rounded
  double train_low = 0.3;     // fraction of rows that are context rows
  double train_high = 0.9;
  double missing_low = 0.0;  // fraction of cells that are missing
  double missing_high = 0.0;
  bool balanced = false;
  bool filter_constant = true;
  bool filter_classes = true;
  bool filter_predictable = true;
  bool filter_trivial = false;
  // Weights of the rules of the rules family, in the order of rule_names(); absent ones are 0.
  std::vector<double> rule_weights = {2, 1, 1, 1, 1, 2, 2};
  // Graph family only.
  int min_nodes = 2;
  int max_nodes = 32;
  double edge_offset = 0.0;
  bool graph_noise = false;
  int max_categories = 200;
  // Known bugs of the reference implementation, reproduced if set.
  bool reference_choices = false;
  bool reference_warps = false;
  bool reference_categories = false;
  std::uint64_t seed = 0;

  // Throws invalid_argument if a value is out of range.
  void check() const;
  // One line of JSON with every field except the seed.
  std::string to_json() const;
  static PriorConfig from_json(std::string_view text);
};

const ConfigDescription<PriorConfig>& describe_prior();

// Names of the prior families and of the rules, in enum order.
const std::vector<std::string>& family_names();
const std::vector<std::string>& rule_names();

}  // namespace causeway::prior
