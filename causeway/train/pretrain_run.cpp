#include "causeway/train/pretrain_run.h"

#include "causeway/core/advice.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/log.h"
#include "causeway/models/tabular_file.h"
#include "causeway/train/interrupt.h"
#include "causeway/train/run_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

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
      const std::function<void(const RunLine&)>& report)
      : trainer_(trainer),
        group_(group),
        options_(options),
        report_(report),
        exchange_steps_(trainer.model().parameters().front().device().is_cuda() ? 8 : 1),
        peak_flops_(describe(trainer.model().parameters().front().device()).peak_flops) {
    if (options.folder.empty()) return;
    CheckpointOptions kept;
    kept.keep_last = static_cast<std::size_t>(options.config.keep);
    kept.higher_is_better = true;
    checkpoints_.emplace(options.folder, kept);
    if (options.resume) {
      restore();
    } else if (holds_a_run()) {
      fail(ErrorKind::invalid_argument, "pretrain",
           fmt::format("\"{}\" already holds a run; pass {} to resume it, or another folder",
                       options.folder.string(), advice("--resume", "resume=True")));
    }
    group.barrier();  // nothing is written before all ranks have read the folder
    if (group.rank() != 0) return;
    checkpoints_->check_writable();
    if (!options.settings.empty()) {
      const std::string text = options.settings + "\n";
      const auto bytes = std::as_bytes(std::span(text));
      warn_if_full("config.json", [&] {
        write_file_atomically("pretrain", options.folder / "config.json", std::array{bytes});
      });
    }
    log_.emplace(options.folder, trainer.step() > 0 ? trainer.step() : -1);
  }

  RunResult go() {
    begin();
    while (!ends()) {
      trainer_.advance();
      const std::int64_t step = trainer_.step();
      const bool evaluates =
          options_.config.evaluate_steps > 0 && step % options_.config.evaluate_steps == 0;
      const bool saves = options_.config.save_steps > 0 && step % options_.config.save_steps == 0;
      if (step % options_.config.log_steps != 0 && !evaluates && !saves) continue;
      close_line();
      if (evaluates) score();
      write_line();
      if (saves) save(false);
      begin();
    }
    const bool has_more = trainer_.step() > line_.step;
    if (has_more) close_line();
    const bool scores = options_.evaluate && !interrupted_ && !line_.score.has_value();
    if (scores) score();
    if (has_more || scores) write_line();
    if (saved_ != trainer_.step()) save(true);
    write_model();
    group_.barrier();  // a launcher ends all ranks when one has ended
    return {line_, interrupted_};
  }

 private:
  bool holds_a_run() const {
    const std::filesystem::path log = options_.folder / "log.jsonl";
    std::error_code none;
    return !checkpoints_->list().empty() ||
           (std::filesystem::exists(log, none) && std::filesystem::file_size(log, none) > 0);
  }

  void restore() {
    const auto found = checkpoints_->load_newest(trainer_.model().parameters().front().device());
    if (found.has_value()) {
      trainer_.restore(*found);
      const auto noted = nlohmann::json::parse(found->progress);
      line_.step = saved_ = trainer_.step();
      line_.datasets = trainer_.datasets();
      line_.seconds = noted.value("seconds", 0.0);
      line_.loss = noted.value("loss", 0.0);
      line_.norm = noted.value("gradient_norm", 0.0);
      line_.score = found->score;
    }
    for (const std::int64_t there : group_.all_gather(trainer_.step())) {
      if (there == trainer_.step()) continue;
      fail(ErrorKind::io, "pretrain",
           fmt::format(
               "ranks resume from steps {} and {}; \"{}\" must be a folder that all ranks share",
               trainer_.step(), there, options_.folder.string()));
    }
  }

  // Whether the step limit or time limit is reached or a signal came. Clocks and signals differ
  // between ranks, so the ranks exchange them.
  bool ends() {
    if (options_.config.steps > 0 && trainer_.step() >= options_.config.steps) return true;
    constexpr double kTimeLimit = 1;
    constexpr double kInterrupted = 2;
    double reason = 0;
    if (options_.config.seconds > 0 && line_.seconds + since(start_) >= options_.config.seconds) {
      reason = kTimeLimit;
    }
    if (interrupt_.requested()) reason = kInterrupted;
    if (group_.size() > 1) {
      if (trainer_.step() % exchange_steps_ != 0) return false;
      for (const double other : group_.all_gather(reason)) reason = std::max(reason, other);
    }
    interrupted_ = reason == kInterrupted;
    return reason > 0;
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
    const double flops = trainer_.take_flops() / seconds;
    line_.mfu = peak_flops_ > 0 ? flops / peak_flops_ : 0;
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
                                          {"mfu", line_.mfu},
                                          {"prior_share", line_.prior_share}};
      if (line_.score.has_value()) numbers.push_back({"score", *line_.score});
      warn_if_full("this line of the log", [&] { log_->add(line_.step, numbers); });
    }
    report_(line_);
  }

  // The averaged weights, for prediction.
  void write_model() {
    if (options_.folder.empty() || group_.rank() != 0) return;
    trainer_.with_averaged_weights([&](models::TabularTransformer& model) {
      models::save_tabular(options_.folder / "model.safetensors", model);
    });
  }

  void save(bool is_last) {
    if (!checkpoints_.has_value() || group_.rank() != 0) return;
    Checkpoint checkpoint = trainer_.checkpoint();
    checkpoint.score = line_.score;
    checkpoint.progress = nlohmann::json{
        {"seconds", line_.seconds},
        {"loss", line_.loss},
        {"gradient_norm",
         line_.norm}}.dump();
    if (is_last) {
      checkpoints_->save(checkpoint);
    } else if (warn_if_full("this checkpoint", [&] { checkpoints_->save(checkpoint); })) {
      saved_ = trainer_.step();
    }
  }

  // Warns on io errors, since a full disk may have space again later. Returns whether it wrote.
  static bool warn_if_full(const char* what, const std::function<void()>& write) {
    try {
      write();
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      logger::warn(fmt::format("training continues without {}: {}", what, error.what()));
      return false;
    }
  }

  Pretrainer& trainer_;
  dist::Group& group_;
  const RunOptions& options_;
  const std::function<void(const RunLine&)>& report_;
  const Interrupt interrupt_;
  const std::int64_t exchange_steps_;  // between exchanges; a GPU's steps are short
  const double peak_flops_;            // of the device
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<RunLog> log_;
  RunLine line_;
  std::int64_t saved_ = -1;
  bool interrupted_ = false;
  Clock::time_point start_ = Clock::now();
  std::int64_t first_step_ = 0;
  double first_generation_ms_ = 0;
};

}  // namespace

RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& report) {
  return Run(trainer, group, options, report).go();
}

}  // namespace causeway::train
