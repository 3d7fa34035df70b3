// A run of pre-training in a folder: its log, its checkpoints, its end by steps, by time or by
// Ctrl-C, and going on after any of these.
#pragma once

#include "causeway/train/pretrain.h"

#include <filesystem>

namespace causeway::train {

struct RunOptions {
  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;           // from the newest checkpoint, if there is one
  std::int64_t steps = 0;        // in all; 0: as many as the time allows
  double seconds = 0;            // of training in all; 0: as long as the steps take
  std::int64_t log_steps = 20;   // between lines of the log
  std::int64_t save_steps = 0;   // between checkpoints, besides the one at the end; 0: none
  std::int64_t evaluate_steps = 0;
  // Scores the model, its weights averaged; higher is better.
  std::function<double(models::TabularTransformer&)> evaluate;
  std::size_t keep = 3;
};

struct RunLine {
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  double seconds = 0;  // of training, without evaluation and saving
  double loss = 0;
  double norm = 0;
  double datasets_per_second = 0;
  double tokens_per_second = 0;
  double limit_share = 0;  // of the products of halves that the device can do; 0 where unknown
  double prior_share = 0;  // of the device's time that went into making datasets
  std::optional<double> score;
};

struct RunResult {
  RunLine last;
  bool interrupted = false;
};

// Takes steps until an end; on rank 0 `tell` hears of every line of the log. Throws where the
// folder holds another run and `resume` is not set. Where the disk is full, training goes on with a
// warning; only when the last checkpoint cannot be written, that is an error.
RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& tell);

}  // namespace causeway::train
