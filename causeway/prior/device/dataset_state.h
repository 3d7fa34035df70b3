// State of the generation of one dataset, and its output memory.
#pragma once

#include "causeway/prior/device/linear.h"
#include "causeway/prior/device/mlp_plan.h"
#include "causeway/prior/device/rules_plan.h"
#include "causeway/prior/device/scm.h"
#include "causeway/prior/device/tidy.h"
#include "causeway/prior/device/tree.h"

namespace causeway::prior {

// State shared by the team, besides its arena.
struct Shared {
  union {  // by family
    GraphPlan graph;
    RulesPlan rules;
  };
  MlpPlan mlp;
  union {  // by family, with mlp for the columns
    TreePlan tree;
    LinearPlan linear;
  };
  std::int16_t feature_order[kMostFeatures];  // the columns that are kept, in output order
  std::int16_t label_order[64];
  float boundaries[64];
  Affine* spreads;  // of the columns before standardisation, or nullptr
  int n_features;
  float bayes_error;
};

// Output memory of a dataset: rows of `row_stride` features, and one target per row.
struct DatasetOut {
  float* x;
  float* y;
  std::int64_t row_stride;
  float* counterfactual_x = nullptr;  // of the second world
  float* counterfactual_y = nullptr;
};

}  // namespace causeway::prior
