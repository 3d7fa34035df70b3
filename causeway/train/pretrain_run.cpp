#include "causeway/train/pretrain_run.h"

#include "causeway/core/interrupt.h"
#include "causeway/data/safetensors.h"
#include "causeway/models/evaluation.h"
#include "causeway/models/tabular_file.h"

#include <algorithm>
#include <utility>

namespace causeway::train {

namespace {

class PretrainJob final : public TrainingJob {
 public:
  PretrainJob(Pretrainer& trainer, const RunOptions& options,
              const std::function<void(const RunLine&)>& report)
      : trainer_(trainer),
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
    if (!options_.evaluate) return std::nullopt;
    double score = 0;
    trainer_.with_averaged_weights([&] {
      const Interruptible evaluation;
      score = options_.evaluate();
    });
    return score;
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
  Pretrainer& trainer_;
  const RunOptions& options_;
  const std::function<void(const RunLine&)>& report_;
  const double peak_flops_;  // of the device
  double generation_ms_;     // at the last line
  bool started_ = false;
  RunLine line_;  // the rates of the last line
};

}  // namespace

std::function<double(models::TabularTransformer&)> table_scorer(const PretrainSettings& settings) {
  if (settings.run.evaluate.empty()) return {};
  const bool regression = settings.config.model.is_regression();
  const auto scored = std::make_shared<std::vector<tables::LabelledTable>>();
  for (const std::string& path : settings.run.evaluate) {
    scored->emplace_back(path, settings.run.target, regression);
    models::require_splittable(path, scored->back());
  }
  return
      [scored](models::TabularTransformer& model) { return models::mean_score(model, *scored, 0); };
}

RunResult run_pretraining(Pretrainer& trainer, dist::Group& group, const RunOptions& options,
                          const std::function<void(const RunLine&)>& report) {
  PretrainJob job(trainer, options, report);
  LoopOptions loop;
  loop.operation = "pretrain";
  loop.folder = options.folder;
  loop.resume = options.resume;
  loop.config = options.config;
  loop.settings = options.settings;
  const LoopResult result = run_loop(job, group, loop);
  return {job.line_of(result.last), result.interrupted};
}

}  // namespace causeway::train
