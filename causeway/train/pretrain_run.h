// A pre-training run in a folder: its log, its checkpoints, its end by steps, by time or by a
// signal, and how it resumes.
#pragma once

#include "causeway/train/pretrain.h"

#include <filesystem>

namespace causeway::train {

struct RunOptions {
  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;           // from the newest checkpoint, if there is one
  RunConfig config;
  std::string settings;  // JSON, written to the folder as config.json; empty: not written
  // Scores the model with averaged weights; higher is better. Empty: not scored.
  std::function<double(models::TabularTransformer&)> evaluate;
};

struct RunLine {
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  double seconds = 0;  // of training, without evaluation and saving
  double loss = 0;
  double norm = 0;
  double datasets_per_second = 0;
  double tokens_per_second = 0;
  double limit_share = 0;  // of the device's peak FLOP/s for 16-bit matrix products; 0: unknown
  double prior_share = 0;  // of the device's time spent on generating datasets
  std::optional<double> score;
};

struct RunResult {
  RunLine last;
  bool interrupted = false;
};

// Trains until an end; on rank 0 `report` is called with every line of the log. Throws where the
// folder holds another run and `resume` is not set. On a full disk training continues with a
// warning; only when the last checkpoint cannot be written, that is an error.
RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& report);

}  // namespace causeway::train
