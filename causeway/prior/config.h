// What a user asks of a prior.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::prior {

struct Recipe;

// A whole number of every dataset: fixed, or drawn evenly or log-evenly between two ends, both
// included. Written "1024", "1:100" or "log 400:10240".
struct CountRange {
  int low = 1;
  int high = 1;
  bool logarithmic = false;

  static CountRange parse(std::string_view name, std::string_view text);
  std::string to_string() const;
};

struct PriorConfig {
  // simple, mlp, tree, graph, or mix. A mix takes the family of each dataset by weight, in that
  // order.
  std::string family = "graph";
  std::vector<double> mix = {0.0, 0.35, 0.15, 0.5};
  CountRange rows = {1024, 1024};
  CountRange features = {1, 100};
  CountRange classes = {2, 10};
  bool regression = false;  // a numeric target; classes do not count
  // The share of rows before the split between context and queries, drawn evenly.
  double train_low = 0.3;
  double train_high = 0.9;
  // The share of cells left out, drawn evenly; each dataset takes one way: by chance, by the cell's
  // own value, or by another column's.
  double missing_low = 0.0;
  double missing_high = 0.0;
  bool balanced = false;        // classes cut at even quantiles (not for graph, which has its own)
  bool filter_constant = true;  // columns of one value go
  bool filter_classes = true;   // both sides of the split know the same classes
  bool filter_predictable = true;  // an ensemble of trees beats the mean; of graph and mix only
  bool filter_trivial = false;     // it is not all but perfect
  // The graph family.
  int min_nodes = 2;
  int max_nodes = 32;
  double edge_offset = 0.0;
  bool graph_noise = false;
  int max_categories = 200;
  // The reference's known faults, each off: uncorrelated choices, the warp on the node behind a
  // numeric column, at most nine categories.
  bool reference_choices = false;
  bool reference_warps = false;
  bool reference_categories = false;
  std::uint64_t seed = 0;

  // Throws invalid_argument where it cannot be.
  void check() const;
  // One line of JSON with every field, in this order, but the seed.
  std::string to_json() const;
  static PriorConfig from_json(std::string_view text);
};

// The families' names, in order.
const std::vector<std::string>& family_names();

}  // namespace causeway::prior
