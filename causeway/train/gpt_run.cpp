#include "causeway/train/gpt_run.h"

#include "causeway/core/append_file.h"
#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/log.h"
#include "causeway/models/gpt_file.h"
#include "causeway/models/model_file.h"
#include "causeway/models/text_generator.h"
#include "causeway/train/gpt_data.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace causeway::train {

namespace {

class GptJob final : public TrainingJob {
 public:
  GptJob(GptTrainer& trainer, const GptData& data, const GptRunOptions& options,
         const std::function<void(const GptLine&)>& report)
      : trainer_(trainer),
        data_(data),
        options_(options),
        report_(report),
        peak_flops_(describe(trainer.device()).peak_flops) {}

  Device device() const override { return trainer_.device(); }
  std::int64_t step() const override { return trainer_.step(); }
  void advance() override {
    if (!std::exchange(started_, true) && options_.on_start) options_.on_start(trainer_.plan());
    trainer_.advance();
  }
  Progress progress() override { return trainer_.progress(); }

  std::vector<NamedNumber> rates(double seconds, std::int64_t steps) override {
    const GptTrainConfig& config = trainer_.config();
    const auto n_steps = static_cast<double>(steps);
    line_.tokens_per_second = n_steps * static_cast<double>(trainer_.tokens_per_step()) / seconds;
    const double flops = n_steps * config.model.step_flops(config.batch, config.model.length);
    line_.mfu = peak_flops_ > 0 ? flops / seconds / peak_flops_ : 0;
    return {{"tokens", static_cast<double>(step() * trainer_.tokens_per_step())},
            {"tokens_per_second", line_.tokens_per_second},
            {"mfu", line_.mfu},
            {"learning_rate", config.schedule.at(std::max<std::int64_t>(step() - 1, 0))}};
  }

  std::optional<double> score() override {
    return trainer_.validation_loss(options_.settings.run.evaluate_batches);
  }

  void report(const LoopLine& line) override {
    GptLine full = line_of(line);
    const std::int64_t every = options_.settings.run.sample_steps;
    if (every > 0 && line.step / every > sampled_ / every) full.sample = sample();
    report_(full);
  }

  GptLine line_of(const LoopLine& line) const {
    GptLine full = line_;
    static_cast<LoopLine&>(full) = line;
    full.tokens = line.step * trainer_.tokens_per_step();
    return full;
  }

  // Text that the model writes; "" without a tokenizer.
  std::string sample() {
    sampled_ = step();
    const GptRunConfig& run = options_.settings.run;
    if (data_.tokenizer == nullptr || run.sample_tokens == 0) return "";
    // The trainer owns the model.
    const std::shared_ptr<models::Gpt> model(std::shared_ptr<void>(), &trainer_.model());
    models::GenerateOptions how;
    how.tokens = run.sample_tokens;
    how.temperature = 0.8;
    how.seed = static_cast<std::uint64_t>(step());
    models::TextGenerator generator(model, data_.tokenizer);
    const std::string text = run.prompt + generator.generate({run.prompt}, how)[0].text;
    log_sample(text);
    return text;
  }

  Checkpoint checkpoint() override { return trainer_.checkpoint(); }
  void restore(const Checkpoint& checkpoint) override { trainer_.restore(checkpoint); }

  void save_model(const std::filesystem::path& folder) override {
    models::save_gpt(folder / "model.safetensors", trainer_.model());
    if (data_.tokenizer_file.empty()) return;
    copy_file_atomically(kGptTrain, data_.tokenizer_file, folder / "tokenizer.json");
  }

 private:
  void log_sample(const std::string& text) const {
    if (options_.folder.empty()) return;
    const nlohmann::ordered_json json{{"step", step()}, {"text", text}};
    try {
      AppendFile file(kGptTrain, options_.folder / "samples.jsonl");
      file.add(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    } catch (const Error& error) {
      logger::warn(fmt::format("training continues without this sample: {}", error.what()));
    }
  }

  GptTrainer& trainer_;
  const GptData& data_;
  const GptRunOptions& options_;
  const std::function<void(const GptLine&)>& report_;
  const double peak_flops_;   // of the device
  GptLine line_;              // the rates of the last line
  std::int64_t sampled_ = 0;  // step of the last sample
  bool started_ = false;
};

// A model of init keeps its vocabulary; any other takes that of the tokenizer.
void set_vocabulary(const GptData& data, const GptSettings& settings, models::GptConfig& model) {
  if (data.tokenizer == nullptr) return;
  const std::int64_t found = data.tokenizer->vocabulary();
  if (settings.init.empty()) {
    model.vocabulary = found;
  } else if (found > model.vocabulary) {
    fail(
        ErrorKind::invalid_argument, kGptTrain,
        fmt::format("the tokenizer has {} ids, the model \"{}\" {}; it is the tokenizer of another "
                    "model",
                    found, settings.init, model.vocabulary));
  }
}

// The weights that training begins with; none if they are drawn, or restored from a checkpoint.
models::State initial_weights(const GptRunOptions& options) {
  const std::string& path = options.settings.init;
  const bool is_restored = options.resume && !CheckpointFolder(options.folder).list().empty();
  if (path.empty() || is_restored) return {};
  const models::GptWeights found = models::read_gpt(models::model_file_of(path));
  models::GptConfig wanted = options.settings.config.model;
  wanted.recompute = found.config.recompute;
  const auto& fields = models::describe_gpt();
  const auto differences =
      config_differences(fields.to_json(&found.config), fields.to_json(&wanted));
  if (!differences.empty()) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         fmt::format("init \"{}\" has other settings: {}; leave them out", path,
                     fmt::join(differences, ", ")));
  }
  return found.state;
}

// Reads the data, and sets the vocabulary of the model.
GptData prepare(GptRunOptions& options) {
  GptTrainConfig& config = options.settings.config;
  GptData data = load_gpt_data(options.settings.data, config.model.vocabulary, config.seed);
  set_vocabulary(data, options.settings, config.model);
  if (data.validation.has_value() && data.validation->size() <= config.model.length) {
    logger::warn(
        fmt::format("[{}] {} tokens are held out, less than one window of {}: there is no "
                    "validation loss",
                    kGptTrain, data.validation->size(), config.model.length + 1));
    data.validation.reset();
  }
  return data;
}

GptTrainer make_trainer(const GptRunOptions& options, const GptData& data, Device device,
                        dist::Group& group) {
  return {options.settings.config,     data.training,           data.validation, device, group,
          options.settings.run.memory, initial_weights(options)};
}

}  // namespace

GptPlan plan_gpt(const GptRunOptions& given, Device device, dist::Group& group) {
  GptRunOptions options = given;
  const GptData data = prepare(options);
  return {options.settings, make_trainer(options, data, device, group).plan()};
}

GptResult run_gpt(const GptRunOptions& given, Device device, dist::Group& group,
                  const std::function<void(const GptLine&)>& report) {
  GptRunOptions options = given;
  const GptData data = prepare(options);
  GptTrainer trainer = make_trainer(options, data, device, group);
  GptJob job(trainer, data, options, report);
  LoopOptions loop;
  loop.operation = kGptTrain;
  loop.folder = options.folder;
  loop.resume = options.resume;
  loop.config = options.settings.run;
  loop.settings = options.settings.to_json();
  loop.score_name = "validation_loss";
  loop.higher_is_better = false;
  const LoopResult result = run_loop(job, group, loop);
  GptLine last = job.line_of(result.last);
  if (group.rank() == 0 && !result.interrupted) last.sample = job.sample();
  return {last, result.interrupted};
}

}  // namespace causeway::train
