#include "causeway/train/recipe.h"

#include "causeway/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace causeway::train {

namespace {

constexpr std::string_view kClassifier = R"({
  "run": {"steps": 26000, "log_steps": 50},
  "model": {
    "width": 192, "heads": 3, "hidden": 576, "layers": 4,
    "cell_encoding": "radial", "labels": "cells", "layer_order": "rows,mlp,columns",
    "scaled_softmax": true, "mean_readout": true
  },
  "prior": {
    "family": "mix", "mix": {"mlp": 0.25, "tree": 0.1, "graph": 0.4, "rules": 0.2, "linear": 0.05},
    "rule_weights": {
      "parity": 2, "and": 1, "count": 1, "list": 1, "tree": 1, "lines": 4, "lookup": 2, "comparison": 1
    },
    "features": "log 2:100", "classes": "2:10", "binary_share": 0.45, "missing_share": [0, 0.1]
  },
  "stages": "0:256,19300:512,23700:1024,25250:2048",
  "batch": 32, "decay": "linear", "seed": 1, "prior_seed": 1
})";

constexpr std::string_view kRegressor = R"({
  "run": {"steps": 15000, "log_steps": 50},
  "model": {
    "width": 192, "heads": 3, "hidden": 576, "layers": 4, "bins": 128,
    "cell_encoding": "radial", "labels": "cells", "layer_order": "rows,mlp,columns",
    "scaled_softmax": true, "mean_readout": true
  },
  "prior": {
    "family": "mix", "mix": {"mlp": 0.25, "tree": 0.15, "graph": 0.4, "rules": 0.1, "linear": 0.1},
    "features": "log 2:100", "regression": true, "skewed_share": 0.35, "missing_share": [0, 0.1]
  },
  "stages": "0:256,11200:512,13700:1024,14650:2048",
  "batch": 32, "decay": "linear", "seed": 1, "prior_seed": 1
})";

}  // namespace

const std::vector<std::string>& recipe_names() {
  static const std::vector<std::string> names = {"none", "classifier", "regressor"};
  return names;
}

std::string_view recipe_settings(std::string_view name) {
  if (name == "none") return "{}";
  if (name == "classifier") return kClassifier;
  if (name == "regressor") return kRegressor;
  fail(ErrorKind::invalid_argument, "pretrain",
       fmt::format("unknown recipe \"{}\"; expected one of {}", name,
                   fmt::join(recipe_names(), ", ")));
}

}  // namespace causeway::train
