#include "causeway/train/run_loop.h"

#include "causeway/core/advice.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/interrupt.h"
#include "causeway/core/log.h"
#include "causeway/models/model_file.h"
#include "causeway/train/agreement.h"
#include "causeway/train/checkpoint_writer.h"
#include "causeway/train/interrupt.h"
#include "causeway/train/run_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::train {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Loop {
 public:
  Loop(TrainingJob& job, dist::Group& group, const LoopOptions& options)
      : job_(job),
        group_(group),
        options_(options),
        exchange_steps_(job.device().is_cuda() ? 8 : 1) {
    for (std::size_t i = 0; i < kQueuedSteps; ++i) queued_.emplace_back(job.device());
    if (options.folder.empty()) return;
    CheckpointOptions kept;
    kept.keep_last = static_cast<std::size_t>(options.config.keep);
    kept.higher_is_better = options.higher_is_better;
    checkpoints_.emplace(options.folder, kept);
    writer_.emplace(*checkpoints_, saved_);
    if (options.resume) {
      restore();
    } else if (holds_a_run()) {
      fail(ErrorKind::invalid_argument, options.operation,
           fmt::format("\"{}\" already holds a run; pass {} to resume it, or another folder",
                       options.folder.string(), advice("--resume", "resume=True")));
    }
    next_save_ = line_.seconds + options.config.save_seconds;
    group.barrier();  // nothing is written before all ranks have read the folder
    if (group.rank() != 0) return;
    checkpoints_->check_writable();
    warn_about_damaged_model();
    if (!options.settings.empty()) {
      const std::string text = options.settings + "\n";
      const auto bytes = std::as_bytes(std::span(text));
      warn_if_full("config.json", [&] {
        write_file_atomically(options.operation, options.folder / "config.json", std::array{bytes});
      });
    }
    log_.emplace(options.folder, job.step() > 0 ? job.step() : -1);
  }

  ~Loop() { group_.on_failure(nullptr); }

  LoopResult go() {
    const Interruptible only_within_steps(false);
    group_.on_failure([this](const Error& error) { report_failure(error); });
    begin();
    // The end is known before the line of a step is written, so that the last step has one line.
    for (bool done = ends(); !done;) {
      done = !advance() || ends();
      const std::int64_t step = job_.step();
      known_step_ = step;
      report_checkpoint();
      const bool evaluates =
          options_.config.evaluate_steps > 0 && step % options_.config.evaluate_steps == 0;
      const bool saves = save_is_due_ ||
                         (options_.config.save_steps > 0 && step % options_.config.save_steps == 0);
      const bool logs = step % options_.config.log_steps == 0 || evaluates || saves;
      if (done || !logs) continue;
      close_line();
      if (evaluates) score();
      write_line();
      if (saves) save();
      begin();
    }
    if (interrupted_ && checkpoints_.has_value() && group_.rank() == 0) {
      logger::warn(
          fmt::format("[{}] interrupted: saving step {}", options_.operation, job_.step()));
    }
    const bool has_more = job_.step() > line_.step;
    if (has_more) close_line();
    const bool scores = !interrupted_ && !line_.score.has_value() && score();
    if (has_more || scores) write_line();
    write_results();
    report_checkpoint();
    group_.barrier();  // a launcher ends all ranks when one has ended
    return {line_, interrupted_};
  }

 private:
  void warn_about_damaged_model() const {
    const std::filesystem::path path = options_.folder / "model.safetensors";
    std::error_code none;
    if (!std::filesystem::exists(path, none)) return;
    try {
      models::read_model_file(path);
    } catch (const Error& error) {
      logger::warn(fmt::format("{}; the run writes a new one at its end", error.what()));
    }
  }

  // Called by another thread: launchers end a rank soon after another one, perhaps before its step
  // is over.
  void report_failure(const Error& error) const {
    const std::int64_t saved = saved_;  // other ranks than 0 may not know the newest one
    std::string next = "there is no checkpoint to resume from";
    if (saved >= 0) {
      next = fmt::format(
          "resume from the {} with {}",
          group_.rank() == 0 ? fmt::format("checkpoint of step {}", saved) : "newest checkpoint",
          advice("--resume", "resume=True"));
    }
    logger::error(fmt::format("[{}] rank {} stops at step {}: {}; {}", options_.operation,
                              group_.rank(), known_step_.load(), error.message(), next));
  }

  bool holds_a_run() const {
    const std::filesystem::path log = options_.folder / "log.jsonl";
    std::error_code none;
    return !checkpoints_->list().empty() ||
           (std::filesystem::exists(log, none) && std::filesystem::file_size(log, none) > 0);
  }

  void restore() {
    // Ranks keep only a part of the optimizer's state: the whole may not fit into device memory.
    const bool on_host = group_.size() > 1;
    const auto found = checkpoints_->load_newest(on_host ? Device::cpu() : job_.device());
    if (found.has_value()) {
      job_.restore(*found);
      const auto noted = nlohmann::json::parse(found->progress);
      line_.step = saved_ = reported_ = known_step_ = job_.step();
      line_.seconds = noted.value("seconds", 0.0);
      line_.loss = noted.value("loss", 0.0);
      line_.norm = noted.value("gradient_norm", 0.0);
      line_.score = found->score;
    } else if (group_.rank() == 0 && holds_a_run()) {
      logger::warn(
          fmt::format("[{}] \"{}\" has no checkpoint: training begins again at step 0, and its log "
                      "and model will be replaced",
                      options_.operation, options_.folder.string()));
    }
    for (const std::int64_t there : group_.all_gather(job_.step())) {
      if (there == job_.step()) continue;
      fail(ErrorKind::io, options_.operation,
           fmt::format(
               "ranks resume from steps {} and {}; \"{}\" must be a folder that all ranks share",
               job_.step(), there, options_.folder.string()));
    }
  }

  // Returns false if a signal ended `work` on the way.
  bool completes(const std::function<void()>& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted || !interrupt_.requested()) throw;
      interrupted_ = true;
      return false;
    }
  }

  // Takes one step; returns false if a signal ended it on the way.
  bool advance() {
    if (!completes([&] { job_.advance(); })) return false;
    // A signal is answered after the steps that a GPU has queued.
    Event& oldest = queued_[static_cast<std::size_t>(job_.step()) % kQueuedSteps];
    oldest.synchronize();
    oldest.record(current_stream(job_.device()));
    return true;
  }

  // Whether the step limit or time limit is reached or a signal came; otherwise sets save_is_due_.
  // Clocks and signals differ between ranks, so the ranks exchange them.
  bool ends() {
    save_is_due_ = false;
    if (options_.config.steps > 0 && job_.step() >= options_.config.steps) return true;
    constexpr double kSaveNow = 1;
    constexpr double kTimeLimit = 2;
    constexpr double kStopNow = 3;
    const double seconds = line_.seconds + since(start_);
    const bool saves_by_time =
        checkpoints_.has_value() && group_.rank() == 0 && options_.config.save_steps == 0;
    double reason = saves_by_time && seconds >= next_save_ ? kSaveNow : 0;
    if (options_.config.seconds > 0 && seconds >= options_.config.seconds) reason = kTimeLimit;
    if (interrupt_.requested()) reason = kStopNow;
    if (group_.size() > 1) {
      if (job_.step() % exchange_steps_ != 0) return false;
      for (const double other : group_.all_gather(reason)) reason = std::max(reason, other);
    }
    interrupted_ = reason == kStopNow;
    save_is_due_ = reason == kSaveNow;
    return reason > kSaveNow;
  }

  void begin() {
    start_ = Clock::now();
    first_step_ = job_.step();
  }

  // Waits for the steps since begin().
  void close_line() {
    const TrainingJob::Progress progress = job_.progress();
    const double seconds = since(start_);
    line_.step = job_.step();
    line_.seconds += seconds;
    line_.loss = progress.loss;
    line_.norm = progress.norm;
    line_.score.reset();
    rates_ = job_.rates(seconds, job_.step() - first_step_);
    start_ = Clock::now();
  }

  bool score() {
    return completes([&] { line_.score = job_.score(); }) && line_.score.has_value();
  }

  void write_line() {
    if (group_.rank() != 0) return;
    if (log_.has_value()) {
      std::vector<NamedNumber> numbers = {
          {"loss", line_.loss}, {"gradient_norm", line_.norm}, {"seconds", line_.seconds}};
      const auto peak = static_cast<double>(pool_of(job_.device()).stats().peak);
      numbers.push_back({"peak_memory", peak});
      numbers.insert(numbers.end(), rates_.begin(), rates_.end());
      if (line_.score.has_value()) numbers.push_back({options_.score_name, *line_.score});
      warn_if_full("this line of the log", [&] { log_->add(line_.step, numbers); });
    }
    job_.report(line_);
  }

  // In the thread of the loop; checkpoints are written in another one.
  void report_checkpoint() {
    const std::int64_t step = saved_;
    if (group_.rank() != 0 || step <= reported_) return;
    reported_ = step;
    job_.report_checkpoint(step, checkpoints_->path_of(step));
  }

  // Called on all ranks.
  void save() {
    const Clock::time_point start = Clock::now();
    if (checkpoints_.has_value()) {
      const Checkpoint checkpoint = collect();
      if (group_.rank() == 0) {
        writer_->finish();
        report_checkpoint();  // of a write that took until now
        writer_->start(checkpoint);
      }
      share_saved();
    }
    constexpr double kMostTime = 0.01;
    next_save_ = line_.seconds + std::max(options_.config.save_seconds, since(start) / kMostTime);
  }

  // All ranks learn which checkpoint rank 0 has written, so that all save at the end, or none.
  void share_saved() {
    const std::int64_t newest = group_.all_gather(saved_.load())[0];
    if (group_.rank() != 0) saved_ = newest;
  }

  // The last checkpoint and the model. One that fails does not keep the other from being written.
  // Called on all ranks.
  void write_results() {
    if (!checkpoints_.has_value()) return;
    try {
      writer_->finish();
    } catch (const std::exception& error) {  // the last checkpoint is written all the same
      logger::warn(fmt::format("the previous checkpoint was not written: {}", error.what()));
    }
    share_saved();
    report_checkpoint();
    std::optional<Checkpoint> last;
    if (saved_ != job_.step()) last = collect();
    group_.check();
    if (group_.rank() != 0) return;
    std::exception_ptr problem;
    try {
      if (last.has_value()) writer_->write(*last);
    } catch (const Error&) {
      problem = std::current_exception();
    }
    try {
      make_room_for(*checkpoints_, [&] { job_.save_model(options_.folder); });
    } catch (const Error& error) {
      if (problem == nullptr) throw;
      logger::warn(fmt::format("the model was not saved either: {}", error.what()));
    }
    if (problem != nullptr) std::rethrow_exception(problem);
  }

  // The state of all ranks, on rank 0. Called on all ranks.
  Checkpoint collect() {
    group_.check();  // weights that were not averaged over all ranks are not saved
    Checkpoint checkpoint = job_.checkpoint();
    checkpoint.score = line_.score;
    checkpoint.progress = nlohmann::json{
        {"seconds", line_.seconds},
        {"loss", line_.loss},
        {"gradient_norm",
         line_.norm}}.dump();
    return checkpoint;
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

  TrainingJob& job_;
  dist::Group& group_;
  const LoopOptions& options_;
  const Interrupt interrupt_;
  const std::int64_t exchange_steps_;  // between exchanges; a GPU's steps are short
  // Also used by report_failure and the writer, in other threads.
  std::atomic<std::int64_t> saved_ = -1;      // step of the newest checkpoint
  std::atomic<std::int64_t> known_step_ = 0;  // steps taken
  std::int64_t reported_ = -1;                // step of the checkpoint that was reported last
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<CheckpointWriter> writer_;
  std::optional<RunLog> log_;
  LoopLine line_;
  std::vector<NamedNumber> rates_;
  double next_save_ = 0;  // in seconds of training, without save_steps
  bool save_is_due_ = false;
  static constexpr std::size_t kQueuedSteps = 4;  // on a GPU
  std::vector<Event> queued_;                     // the ends of the last steps
  bool interrupted_ = false;
  Clock::time_point start_ = Clock::now();
  std::int64_t first_step_ = 0;
};

}  // namespace

double LoopConfig::fraction_done(std::int64_t step, double seconds_trained) const {
  double fraction = seconds > 0 ? seconds_trained / seconds : 0;
  if (steps > 0) {
    fraction = std::max(fraction, static_cast<double>(step) / static_cast<double>(steps));
  }
  return std::min(fraction, 1.0);
}

void check_resumed_settings(const std::string& operation,
                            const std::vector<std::string>& differences,
                            std::initializer_list<std::string_view> fixed) {
  std::string others;
  for (const std::string& difference : differences) {
    for (const std::string_view name : fixed) {
      if (!difference.starts_with(name)) continue;
      fail(ErrorKind::format, operation,
           fmt::format(
               "the checkpoint has another model or optimizer: {}; resume with its settings, "
               "or use another folder",
               difference));
    }
    others += (others.empty() ? "" : ", ") + difference;
  }
  if (others.empty()) return;
  logger::warn(fmt::format("[{}] resuming with changed settings: {}", operation, others));
}

LoopResult run_loop(TrainingJob& job, dist::Group& group, const LoopOptions& options) {
  const LoopConfig& config = options.config;
  const nlohmann::json when{{"steps", config.steps},
                            {"seconds", config.seconds},
                            {"log_steps", config.log_steps},
                            {"save_steps", config.save_steps},
                            {"evaluate_steps", config.evaluate_steps},
                            {"resume", options.resume}};
  require_same_settings(options.operation, group, when.dump());
  return Loop(job, group, options).go();
}

}  // namespace causeway::train
