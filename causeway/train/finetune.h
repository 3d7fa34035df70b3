// Fine-tuning of a tabular transformer on the rows of one table.
#pragma once

#include "causeway/models/predictor.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace causeway::train {

struct FinetuneOptions {
  double seconds = 60;
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  double learning_rate = 3e-5;
  std::int64_t max_rows = 1024;  // of a step
};

struct Finetuned {
  std::map<std::string, Tensor> weights;  // f32, for load_state
  // Mean log loss of the tested rows with the weights before, and with these.
  double loss_before = 0;
  double loss_after = 0;
  std::int64_t n_steps = 0;
};

// Trains a copy of a fitted predictor's model. A fifth of the context rows is held out; each step
// predicts some of the others from the rest, with columns and classes in random order, and another
// fifth of those chooses the weights of the run. These are returned if their log loss for the
// held-out rows, with the predictor's options, is less by more than two standard errors of the
// differences, else the weights before. loss_before is unbiased; loss_after is a little too small,
// as it was compared. `progress` is called with the fraction of the time that has passed.
// Throws invalid_argument for fewer than 20 context rows, and for more classes than the model has.
Finetuned finetune(const models::TabularPredictor& predictor, const FinetuneOptions& options,
                   const models::ProgressHook& progress = {});

}  // namespace causeway::train
