#include "causeway/train/gpt_config.h"

#include "causeway/core/error.h"
#include "causeway/models/gpt_file.h"
#include "causeway/models/model_file.h"
#include "causeway/models/text_generator.h"
#include "causeway/train/checkpoint.h"
#include "causeway/train/gpt_data.h"
#include "causeway/train/loop_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::train {

namespace {

Json gpt_dtype_to_json(const DType& dtype) { return std::string(to_string(dtype)); }

void gpt_dtype_from_json(const Json& json, DType& dtype) {
  DType read = DType::f32;
  value_from_json(json, read);
  if (read == DType::f64) throw ValueExpected{"f32, bf16 or f16"};
  dtype = read;
}

ConfigDescription<GptTrainConfig> make_gpt_description() {
  using Config = GptTrainConfig;
  ConfigDescription<Config> d(kGptTrain);
  d.section("model", &Config::model, models::describe_gpt());
  d.add("seed", &Config::seed, "Random seed");
  d.add("batch", &Config::batch, "Sequences per optimizer step, over all ranks")
      .between(1, 1 << 20);
  d.add("micro_batch", &Config::micro_batch,
        "Sequences per pass on each rank; gradients are summed in f32")
      .at_least(1)
      .optional()
      .defaults_to("all in one pass");
  d.custom("dtype", &Config::dtype, "f32|bf16|f16", gpt_dtype_to_json, gpt_dtype_from_json,
           "Type of the weights and activations")
      .defaults_to("bf16 on a GPU, else f32");
  d.add(
       "learning_rate", [](Config& c) -> double& { return c.schedule.peak; }, "Peak learning rate")
      .above(0)
      .under("Optimizer");
  d.add(
       "warmup", [](Config& c) -> std::int64_t& { return c.schedule.warmup; },
       "Steps of linear warm-up")
      .at_least(0)
      .under("Optimizer");
  d.add(
       "total", [](Config& c) -> std::int64_t& { return c.schedule.total; },
       "Step at which the decay ends")
      .json_only();
  d.choice(
       "decay", [](Config& c) -> optim::Decay& { return c.schedule.decay; },
       {"constant", "linear", "cosine"}, "Learning-rate schedule after warm-up")
      .defaults_to("cosine if steps are given, else constant")
      .under("Optimizer");
  d.add(
       "floor", [](Config& c) -> double& { return c.schedule.floor; },
       "Learning rate at the end of the decay")
      .at_least(0)
      .under("Optimizer");
  d.add("weight_decay", &Config::weight_decay, "Weight decay of matrices")
      .at_least(0)
      .under("Optimizer");
  d.add("beta2", &Config::beta2, "Decay of the squared gradients of AdamW")
      .between(0, 1)
      .under("Optimizer");
  d.add("max_norm", &Config::max_norm, "Gradients are clipped to this norm")
      .above(0)
      .under("Optimizer");
  d.add("muon", &Config::muon, "Muon for the matrices of the layers, AdamW for the rest")
      .under("Optimizer");
  d.add("muon_factor", &Config::muon_factor, "Learning-rate factor of Muon")
      .above(0)
      .under("Optimizer");
  return d;
}

ConfigDescription<GptDataConfig> make_data_description() {
  using Config = GptDataConfig;
  ConfigDescription<Config> d(kGptTrain);
  d.add("data", &Config::data,
        "Text files, .jsonl files, folders or globs of them, or token shards (.bin)")
      .written("PATH...");
  d.add("tokenizer", &Config::tokenizer, "bytes, or a tokenizer.json")
      .written("NAME")
      .defaults_to("bytes for text, that of a folder of shards");
  d.add("validation", &Config::validation, "Share of the tokens that is held out").between(0, 0.5);
  d.add("separator", &Config::separator, "Line that separates the documents of a text file");
  d.add("template", &Config::pattern, "Text of a JSON object, such as \"{question} {answer}\"");
  d.add(
      "answer", &Config::answer,
      "Field of the template at which the answer begins; tokens before it are no training targets");
  return d;
}

ConfigDescription<GptRunConfig> make_gpt_run_description() {
  using Config = GptRunConfig;
  ConfigDescription<Config> d(kGptTrain);
  describe_loop(d);
  d.add("evaluate_batches", &Config::evaluate_batches, "Batches of the validation loss")
      .at_least(1);
  d.add("sample_steps", &Config::sample_steps, "Steps between samples of text")
      .at_least(1)
      .optional()
      .defaults_to("one at the end");
  d.add("sample_tokens", &Config::sample_tokens, "Tokens of a sample").at_least(0);
  d.add("prompt", &Config::prompt, "Text that samples begin with");
  return d;
}

ConfigDescription<GptSettings> make_gpt_settings_description() {
  ConfigDescription<GptSettings> d(kGptTrain);
  d.add("preset", &GptSettings::preset,
        "Model: bytes, llama-tiny, gpt2, gpt2-medium, gpt2-large or gpt2-xl")
      .written("NAME")
      .defaults_to("bytes for the byte tokenizer, else gpt2")
      .option_only();  // the model's own settings are stored
  d.add("init", &GptSettings::init,
        "Folder of a run or of gpt import, or a model file, whose weights training begins with")
      .written("MODEL")
      .defaults_to("random weights");
  static const ConfigDescription<GptRunConfig> run = make_gpt_run_description();
  static const ConfigDescription<GptDataConfig> data = make_data_description();
  d.section("data", &GptSettings::data, data);
  d.section("run", &GptSettings::run, run);
  d.section("", &GptSettings::config, describe_gpt_train());
  return d;
}

// The model of a preset, or that of init with its tokenizer.
void begin_with_model(const GptSettings& given, GptSettings& settings) {
  const bool is_text = given.data.tokenizer.empty() && !is_tokenized(given.data);
  if (given.init.empty()) {
    const bool bytes = given.data.tokenizer == "bytes" || is_text;
    settings.config.model = models::GptConfig::preset(!given.preset.empty() ? given.preset
                                                      : bytes               ? "bytes"
                                                                            : "gpt2");
    return;
  }
  if (!given.preset.empty()) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         fmt::format("preset {}: the model of init has its own settings; give one of the two",
                     given.preset));
  }
  settings.config.model = models::read_gpt_config(models::model_file_of(given.init));
  if (is_text) settings.data.tokenizer = models::find_tokenizer(given.init, settings.config.model);
}

}  // namespace

const ConfigDescription<GptTrainConfig>& describe_gpt_train() {
  static const ConfigDescription<GptTrainConfig> description = make_gpt_description();
  return description;
}

const ConfigDescription<GptSettings>& describe_gpt_settings() {
  static const ConfigDescription<GptSettings> description = make_gpt_settings_description();
  return description;
}

void GptTrainConfig::check() const {
  describe_gpt_train().check(this);
  model.check();
}

std::string GptTrainConfig::to_json() const { return describe_gpt_train().to_json(this).dump(); }

GptTrainConfig GptTrainConfig::from_json(std::string_view text) {
  GptTrainConfig config;
  describe_gpt_train().read(&config, parse_settings(kGptTrain, text));
  return config;
}

std::string GptSettings::to_json() const { return describe_gpt_settings().to_json(this).dump(2); }

GptSettings resolve_gpt_settings(std::string_view base_text, std::string_view given_text,
                                 Device device) {
  const Json base = parse_settings(kGptTrain, base_text);
  const Json given = parse_settings(kGptTrain, given_text);
  GptSettings settings;
  const auto& description = describe_gpt_settings();
  if (base.empty()) {
    GptSettings first;
    description.read(&first, given);  // for the model, whose settings others override
    begin_with_model(first, settings);
    settings.config.dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  } else {
    description.read(&settings, base);
  }
  description.read(&settings, given);
  if (settings.run.steps == 0 && settings.run.seconds == 0) settings.run.steps = 1000;
  optim::Schedule& schedule = settings.config.schedule;
  if (base.empty() && !has_setting(given, "decay") && settings.run.steps > 0) {
    schedule.decay = optim::Decay::cosine;
    if (!has_setting(given, "floor")) schedule.floor = 0.1 * schedule.peak;
  }
  if (schedule.decay != optim::Decay::constant) {
    if (settings.run.steps == 0) {
      fail(ErrorKind::invalid_argument, kGptTrain,
           "decay: a learning-rate decay ends at the last step; set steps too");
    }
    schedule.total = settings.run.steps;
  }
  settings.config.check();
  return settings;
}

std::string gpt_settings_of_run(const std::string& folder) {
  if (auto settings = settings_in(folder, kGptTrain)) return *settings;
  const auto newest = CheckpointFolder(folder).load_newest();
  if (newest.has_value()) return GptTrainConfig::from_json(newest->configuration).to_json();
  return "{}";
}

}  // namespace causeway::train
