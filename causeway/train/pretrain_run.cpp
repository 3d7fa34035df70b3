#include "causeway/train/pretrain_run.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/interrupt.h"
#include "causeway/core/log.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/evaluation.h"
#include "causeway/models/tabular_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

namespace causeway::train {

namespace {

class PretrainJob final : public TrainingJob {
 public:
  PretrainJob(Pretrainer& trainer, int rank, const RunOptions& options,
              const std::function<void(const RunLine&)>& report)
      : trainer_(trainer),
        rank_(rank),
        options_(options),
        report_(report),
        peak_flops_(describe(device()).peak_flops),
        generation_ms_(trainer.source().generation_ms()) {}

  Device device() const override { return trainer_.module().parameters().front().device(); }
  std::int64_t step() const override { return trainer_.step(); }
  void advance() override {
    if (!std::exchange(started_, true) && options_.on_start) options_.on_start();
    trainer_.advance();
  }
  Progress progress() override { return trainer_.progress(); }

  std::vector<NamedNumber> rates(double seconds, std::int64_t steps) override {
    const auto datasets = static_cast<double>(steps * trainer_.config().batch);
    line_.datasets_per_second = datasets / seconds;
    line_.tokens_per_second = static_cast<double>(trainer_.take_tokens()) / seconds;
    const double flops = trainer_.take_flops() / seconds;
    line_.mfu = peak_flops_ > 0 ? flops / peak_flops_ : 0;
    const double generation_ms = trainer_.source().generation_ms();
    line_.prior_share =
        (generation_ms - std::exchange(generation_ms_, generation_ms)) / 1000 / seconds;
    return {{"datasets", static_cast<double>(trainer_.datasets())},
            {"datasets_per_second", line_.datasets_per_second},
            {"tokens_per_second", line_.tokens_per_second},
            {"mfu", line_.mfu},
            {"prior_share", line_.prior_share}};
  }

  std::optional<double> score() override {
    if (options_.score) {
      double score = 0;
      trainer_.with_averaged_weights([&] {
        const Interruptible scoring;
        score = options_.score();
      });
      return score;
    }
    if (!options_.evaluate) return std::nullopt;
    models::Evaluation evaluation;
    trainer_.with_averaged_weights([&] {
      const Interruptible scoring;
      evaluation = options_.evaluate(trainer_.model());
    });
    write_evaluation(evaluation);
    return evaluation.score();
  }

  // The next datasets of the prior are new to the model. A problem is a warning: the run is over.
  void evaluate_on_prior() {
    try {
      trainer_.with_averaged_weights([&] {
        write_evaluation(models::evaluate_datasets(trainer_.model(), trainer_.new_tables()));
      });
    } catch (const Error& error) {
      logger::warn(error.what());
    }
  }

  void report(const LoopLine& line) override { report_(line_of(line)); }

  void report_checkpoint(std::int64_t step, const std::filesystem::path& folder) override {
    if (options_.on_checkpoint) options_.on_checkpoint(step, folder);
  }

  RunLine line_of(const LoopLine& line) const {
    RunLine full = line_;
    full.step = line.step;
    full.datasets = line.step * trainer_.config().batch;
    full.seconds = line.seconds;
    full.loss = line.loss;
    full.norm = line.norm;
    full.score = line.score;
    return full;
  }

  Checkpoint checkpoint() override { return trainer_.checkpoint(); }
  void restore(const Checkpoint& checkpoint) override { trainer_.restore(checkpoint); }

  // The averaged weights.
  void save_model(const std::filesystem::path& folder) override {
    const std::filesystem::path path = folder / "model.safetensors";
    trainer_.with_averaged_weights([&] {
      if (trainer_.config().custom_model.empty()) {
        models::save_tabular(path, trainer_.model());
      } else {
        save_safetensors(path, trainer_.module().state());
      }
    });
  }

 private:
  // A problem is a warning: it does not end the run.
  void write_evaluation(const models::Evaluation& evaluation) const {
    if (options_.folder.empty() || rank_ != 0) return;
    try {
      const std::string text = evaluation.to_json() + "\n";
      write_file_atomically("pretrain", options_.folder / "evaluation.json",
                            std::array{std::as_bytes(std::span(text))});
    } catch (const Error& error) {
      logger::warn(error.what());
    }
  }

  Pretrainer& trainer_;
  const int rank_;
  const RunOptions& options_;
  const std::function<void(const RunLine&)>& report_;
  const double peak_flops_;  // of the device
  double generation_ms_;     // at the last line
  bool started_ = false;
  RunLine line_;  // the rates of the last line
};

}  // namespace

std::function<models::Evaluation(models::TabularTransformer&)> evaluation_on_tables(
    const PretrainSettings& settings) {
  if (settings.run.evaluate.empty()) return {};
  using Named = std::pair<std::string, tables::LabelledTable>;
  const auto named = std::make_shared<std::vector<Named>>();
  for (const std::string& path : settings.run.evaluate) {
    tables::LabelledTable table(path, settings.run.target, settings.config.model.is_regression());
    models::require_splittable(path, table);
    named->emplace_back(std::filesystem::path(path).filename().string(), std::move(table));
  }
  return [named](models::TabularTransformer& model) {
    return models::evaluate_tables(model, *named, 0);
  };
}

RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& report) {
  PretrainJob job(trainer, group.rank(), options, report);
  LoopOptions loop;
  loop.operation = "pretrain";
  loop.folder = options.folder;
  loop.resume = options.resume;
  loop.config = options.config;
  loop.settings = options.settings;
  const LoopResult result = run_loop(job, group, loop);
  const bool was_evaluated = options.evaluate != nullptr || options.score != nullptr;
  const PretrainConfig& config = trainer.config();
  const bool has_prior = config.batches.empty() && config.custom_model.empty();
  if (!options.folder.empty() && !was_evaluated && has_prior && !result.interrupted) {
    if (group.rank() == 0) job.evaluate_on_prior();
    group.barrier();  // a launcher ends all ranks when one has ended
  }
  return {job.line_of(result.last), result.interrupted};
}

}  // namespace causeway::train
