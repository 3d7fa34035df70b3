// The loop of a training run in a folder: log, checkpoints, resume, and the end by steps, time or
// signal. What is trained is a TrainingJob.
#pragma once

#include "causeway/data/tensorboard.h"
#include "causeway/dist/group.h"
#include "causeway/train/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::train {

// When a run ends and what it writes.
struct LoopConfig {
  std::int64_t steps = 0;           // in total; 0: no limit
  double seconds = 0;               // of training in total; 0: no limit
  std::int64_t log_steps = 20;      // between log lines
  std::int64_t save_steps = 0;      // between checkpoints, besides the last; 0: save_seconds
  double save_seconds = 300;        // of training between checkpoints; at least 100 times a save
  std::int64_t keep = 3;            // checkpoints kept, besides the best
  std::int64_t evaluate_steps = 0;  // between scores, besides the last; 0: none
  std::size_t memory = 0;           // bytes that the run may use on its device; 0: default

  // The fraction of a run that is done, by the limit that is reached first.
  double fraction_done(std::int64_t step, double seconds_trained) const;
};

struct LoopLine {
  std::int64_t step = 0;
  double seconds = 0;  // of training, without evaluation and saving
  double loss = 0;     // mean since the last line
  double norm = 0;     // of the last step's gradient
  std::optional<double> score;
};

class TrainingJob {
 public:
  virtual ~TrainingJob() = default;

  virtual Device device() const = 0;
  virtual std::int64_t step() const = 0;  // steps taken
  // Queues one step without waiting for it.
  virtual void advance() = 0;
  // Waits for the device. The mean loss of the steps since the last call, and the gradient norm of
  // the last one.
  struct Progress {
    double loss = 0;
    double norm = 0;
  };
  virtual Progress progress() = 0;
  // More numbers for the log, about the last `steps` steps, which took this time.
  virtual std::vector<NamedNumber> rates(double seconds, std::int64_t steps) = 0;
  // The score of the weights; nullopt if there is nothing to score. Called on all ranks.
  virtual std::optional<double> score() = 0;
  // Shows a line that was logged. Called on rank 0.
  virtual void report(const LoopLine& line) = 0;
  // Called on rank 0 between steps, soon after a checkpoint was written to `folder`.
  virtual void report_checkpoint(std::int64_t /*step*/, const std::filesystem::path& /*folder*/) {}

  // Called on all ranks; that of rank 0 is saved.
  virtual Checkpoint checkpoint() = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
  // Writes the weights for inference. Called on rank 0.
  virtual void save_model(const std::filesystem::path& folder) = 0;
};

struct LoopOptions {
  std::string operation;         // in messages
  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;           // from the newest checkpoint, if there is one
  LoopConfig config;
  std::string settings;  // JSON, written to the folder as config.json; empty: not written
  std::string score_name = "score";
  bool higher_is_better = true;
};

struct LoopResult {
  LoopLine last;
  bool interrupted = false;
};

// The text of a run's config.json; nullopt, with a warning, if it is missing or damaged.
std::optional<std::string> settings_in(const std::filesystem::path& folder,
                                       const std::string& operation);

// For a run that resumes with other settings: `differences` are those of config_differences. Throws
// a format error if one begins with an entry of `fixed`, and warns about the others.
void check_resumed_settings(const std::string& operation,
                            const std::vector<std::string>& differences,
                            std::initializer_list<std::string_view> fixed);

// Checkpoints are written while training continues (checkpoint_writer.h), except the last.
// Trains until a limit or signal. Throws if the folder holds a run and `resume` is not set. On a
// full disk old checkpoints are removed, but neither the newest nor the best; if that is not
// enough, training continues with a warning. Only a failure to write the last checkpoint or the
// model is an error, after both were tried.
LoopResult run_loop(TrainingJob& job, dist::Group& group, const LoopOptions& options);

}  // namespace causeway::train
