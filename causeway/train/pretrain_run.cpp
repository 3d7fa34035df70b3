#include "causeway/train/pretrain_run.h"

#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/train/interrupt.h"
#include "causeway/train/run_log.h"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::train {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Run {
 public:
  Run(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
      const std::function<void(const RunLine&)>& tell)
      : trainer_(trainer), group_(group), options_(options), tell_(tell) {
    if (options.folder.empty()) return;
    CheckpointOptions kept;
    kept.keep_last = options.keep;
    kept.high_scores_win = true;
    checkpoints_.emplace(options.folder, kept);
    if (options.resume) {
      const auto found = checkpoints_->load_newest(trainer.model().parameters().front().device());
      if (found.has_value()) {
        trainer.restore(*found);
        line_.seconds = nlohmann::json::parse(found->random).value("seconds", 0.0);
      }
    } else if (!checkpoints_->list().empty()) {
      fail(ErrorKind::invalid_argument, "pretrain",
           fmt::format("{} holds a run already; pass --resume to go on with it, or another folder",
                       options.folder.string()));
    }
    if (group.rank() != 0) return;
    checkpoints_->prepare();
    log_.emplace(options.folder, trainer.step() > 0 ? trainer.step() : -1);
  }

  RunResult go() {
    const Interrupt interrupt;
    RunResult result;
    begin();
    while (!done()) {
      trainer_.advance();
      const std::int64_t step = trainer_.step();
      const bool evaluates = options_.evaluate_steps > 0 && step % options_.evaluate_steps == 0;
      const bool saves = options_.save_steps > 0 && step % options_.save_steps == 0;
      if (step % options_.log_steps != 0 && !evaluates && !saves) continue;
      close_line();
      if (evaluates) score();
      write_line();
      if (saves) save();
      result.interrupted = interrupted_anywhere(interrupt.requested());
      if (result.interrupted) break;
      begin();
    }
    if (trainer_.step() > line_.step) {
      close_line();
      if (options_.evaluate && !result.interrupted) score();
      write_line();
    }
    if (saved_ != trainer_.step()) save();
    result.last = line_;
    return result;
  }

 private:
  bool done() const {
    if (options_.steps > 0 && trainer_.step() >= options_.steps) return true;
    return options_.seconds > 0 && line_.seconds + since(start_) >= options_.seconds;
  }

  void begin() {
    start_ = Clock::now();
    first_step_ = trainer_.step();
    first_generation_ms_ = trainer_.stream().generation_ms();
  }

  // Waits for the steps since begin().
  void close_line() {
    const Pretrainer::Progress progress = trainer_.progress();
    const double seconds = since(start_);
    const auto steps = static_cast<double>(trainer_.step() - first_step_);
    line_.step = trainer_.step();
    line_.datasets = trainer_.datasets();
    line_.seconds += seconds;
    line_.loss = progress.loss;
    line_.norm = progress.norm;
    line_.datasets_per_second = steps * static_cast<double>(trainer_.config().batch) / seconds;
    line_.tokens_per_second = static_cast<double>(trainer_.take_tokens()) / seconds;
    line_.prior_share = (trainer_.stream().generation_ms() - first_generation_ms_) / 1000 / seconds;
    line_.score.reset();
    start_ = Clock::now();
  }

  void score() {
    if (!options_.evaluate) return;
    trainer_.with_averaged_weights(
        [&](models::TabularTransformer& model) { line_.score = options_.evaluate(model); });
  }

  void write_line() {
    if (group_.rank() != 0) return;
    if (log_.has_value()) {
      std::vector<NamedNumber> numbers = {{"loss", line_.loss},
                                          {"gradient_norm", line_.norm},
                                          {"seconds", line_.seconds},
                                          {"datasets", static_cast<double>(line_.datasets)},
                                          {"datasets_per_second", line_.datasets_per_second},
                                          {"tokens_per_second", line_.tokens_per_second},
                                          {"prior_share", line_.prior_share}};
      if (line_.score.has_value()) numbers.push_back({"score", *line_.score});
      log_->add(line_.step, numbers);
    }
    tell_(line_);
  }

  void save() {
    saved_ = trainer_.step();
    if (!checkpoints_.has_value() || group_.rank() != 0) return;
    Snapshot snapshot = trainer_.snapshot();
    snapshot.score = line_.score;
    snapshot.random = nlohmann::json{{"seconds", line_.seconds}}.dump();
    try {
      checkpoints_->save(snapshot);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      logger::warn(fmt::format("training goes on without this checkpoint: {}", error.what()));
    }
  }

  bool interrupted_anywhere(bool here) {
    for (const double there : group_.all_gather(here ? 1.0 : 0.0)) {
      if (there != 0) return true;
    }
    return false;
  }

  Pretrainer& trainer_;
  dist::Group& group_;
  const RunOptions& options_;
  const std::function<void(const RunLine&)>& tell_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<RunLog> log_;
  RunLine line_;
  std::int64_t saved_ = -1;
  Clock::time_point start_ = Clock::now();
  std::int64_t first_step_ = 0;
  double first_generation_ms_ = 0;
};

}  // namespace

RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& tell) {
  return Run(trainer, group, options, tell).go();
}

}  // namespace causeway::train
