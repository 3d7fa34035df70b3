// Runs pre-training in a folder (run_loop.h).
#pragma once

#include "causeway/models/evaluation.h"
#include "causeway/train/pretrain.h"
#include "causeway/train/run_loop.h"

#include <filesystem>

namespace causeway::train {

struct RunOptions {
  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;           // from the newest checkpoint, if there is one
  RunConfig config;
  std::string settings;  // JSON, written to the folder as config.json; empty: not written
  // Called while the model has averaged weights; returns a score, higher is better. Empty: the
  // score is that of `evaluate`.
  std::function<double()> score;
  // Evaluates the model with averaged weights; the last result is written to the folder as
  // evaluation.json. If this and `score` are empty, the model is evaluated at the end of the run on
  // datasets of the prior that it was not trained on.
  std::function<models::Evaluation(models::TabularTransformer&)> evaluate;
  // Called before the first step, when the folder was checked. Empty: not called.
  std::function<void()> on_start;
  // Called on rank 0 soon after a checkpoint was written, with its step and folder. Empty: not
  // called.
  std::function<void(std::int64_t step, const std::filesystem::path& folder)> on_checkpoint;
};

// The evaluation on the tables of a configuration; empty without tables. Throws if one cannot be
// read or split.
std::function<models::Evaluation(models::TabularTransformer&)> evaluation_on_tables(
    const PretrainSettings& settings);

struct RunLine {
  std::int64_t step = 0;
  std::int64_t datasets = 0;
  double seconds = 0;  // of training, without evaluation and saving
  double loss = 0;
  double norm = 0;
  double datasets_per_second = 0;
  double tokens_per_second = 0;
  double mfu = 0;  // model FLOPs utilization: FLOP/s by the device's 16-bit peak; 0: unknown
  double prior_share = 0;  // fraction of the time in which the device generated datasets
  std::optional<double> score;
};

struct RunResult {
  RunLine last;
  bool interrupted = false;
};

// Trains until a limit or signal, as run_loop does; rank 0 calls `report` with every log line.
RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& report);

}  // namespace causeway::train
