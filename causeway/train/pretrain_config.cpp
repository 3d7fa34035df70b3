#include "causeway/train/pretrain_config.h"

#include "causeway/core/config.h"
#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/train/loop_json.h"
#include "causeway/train/checkpoint.h"
#include "causeway/train/recipe.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace causeway::train {

namespace {

constexpr const char* kPretrain = "pretrain";

Json stages_to_json(const std::vector<RowStage>& stages) {
  Json json = Json::array();
  for (const RowStage& stage : stages) json.push_back({stage.step, stage.rows});
  return json;
}

// [[0, 128], [2000, 512]], or "0:128,2000:512".
void stages_from_json(const Json& json, std::vector<RowStage>& stages) {
  const ValueExpected expected{"step:rows,step:rows with ascending steps and 2 or more rows"};
  std::vector<RowStage> made;
  const auto take = [&](const Json& pair) {
    int step = 0;
    int rows = 0;
    range_from_json(pair, step, rows);
    made.push_back({step, rows});
  };
  try {
    if (json.is_string()) {
      const std::string text = json.get<std::string>();
      for (std::size_t at = 0; at <= text.size() && !text.empty();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string pair = text.substr(at, comma - at);
        if (pair.find(':') == std::string::npos) throw expected;
        take(pair);
        at = comma + 1;
      }
    } else {
      if (!json.is_array()) throw expected;
      for (const Json& pair : json) {
        const bool is_pair = pair.is_array() && pair.size() == 2;
        if (!is_pair && !pair.is_string()) throw expected;
        take(pair);
      }
    }
  } catch (const ValueExpected&) {
    throw expected;
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const bool ascends = i == 0 || made[i - 1].step < made[i].step;
    if (made[i].step < 0 || made[i].rows < 2 || !ascends) throw expected;
  }
  stages = std::move(made);
}

Json dtype_to_json(const DType& dtype) { return std::string(to_string(dtype)); }

void dtype_from_json(const Json& json, DType& dtype) {
  DType read = DType::f32;
  value_from_json(json, read);
  if (read != DType::f32 && read != DType::bf16) throw ValueExpected{"f32 or bf16"};
  dtype = read;
}

const std::vector<std::string> kDecays = {"constant", "linear", "cosine"};

void add_optimizer(ConfigDescription<PretrainConfig>& d) {
  using Config = PretrainConfig;
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
       "decay", [](Config& c) -> optim::Decay& { return c.schedule.decay; }, kDecays,
       "Learning-rate schedule after warm-up")
      .under("Optimizer");
  d.add(
       "floor", [](Config& c) -> double& { return c.schedule.floor; },
       "Learning rate at the end of the decay")
      .at_least(0)
      .under("Optimizer");
  d.add("weight_decay", &Config::weight_decay, "Weight decay").at_least(0).under("Optimizer");
  d.add("max_norm", &Config::max_norm, "Gradients are clipped to this norm")
      .above(0)
      .under("Optimizer");
  d.add("muon", &Config::muon,
        "Muon for the matrices of the layers and schedule-free AdamW for the rest, else "
        "schedule-free AdamW for all")
      .under("Optimizer");
  d.add("muon_factor", &Config::muon_factor, "Learning-rate factor of Muon")
      .above(0)
      .under("Optimizer");
  d.add("average", &Config::average, "Snapshots of the weights that are averaged")
      .at_least(1)
      .under("Optimizer");
  d.add("average_steps", &Config::average_steps, "Steps between snapshots")
      .at_least(1)
      .under("Optimizer");
}

ConfigDescription<PretrainConfig> make_description() {
  using Config = PretrainConfig;
  ConfigDescription<Config> d(kPretrain, 2);
  d.section("model", &Config::model, models::describe_tabular());
  d.section("prior", &Config::prior, prior::describe_prior());
  d.remove("prior.seed");  // it is prior_seed
  d.add(
       "prior_seed", [](Config& c) -> std::uint64_t& { return c.prior.seed; },
       "Random seed of the prior")
      .defaults_to("the seed");
  d.add("seed", &Config::seed, "Random seed");
  d.add("batch", &Config::batch, "Datasets per optimizer step, over all ranks").between(1, 1 << 20);
  d.add("window_steps", &Config::window_steps, "Steps whose datasets are generated together")
      .between(1, 1 << 16)
      .defaults_to("32 on a GPU, 4 on a CPU");
  d.add("dataset_uses", &Config::dataset_uses,
        "Steps that use each dataset, the second with rows, features and classes reversed")
      .between(1, 2);
  d.custom("stages", &Config::stages, "STEP:ROWS,...", stages_to_json, stages_from_json,
           "Rows per dataset from given steps on")
      .defaults_to("none");
  d.custom("dtype", &Config::dtype, "f32|bf16", dtype_to_json, dtype_from_json,
           "Type of the weights and activations")
      .defaults_to("bf16 on a GPU, else f32");
  add_optimizer(d);
  d.add("detect_anomaly", &Config::detect_anomaly,
        "Stop at the first operation with a value that is not finite; slow");
  d.add("batches", &Config::batches, "Type of the source of batches, if not a prior").json_only();
  d.add("families", &Config::families, "Names and shares of custom prior families").json_only();
  d.add("custom_model", &Config::custom_model, "Class of a custom model").json_only();
  d.applies_if("batches", [](const Config& c) { return !c.batches.empty(); });
  d.applies_if("families", [](const Config& c) { return !c.families.empty(); });
  d.applies_if("custom_model", [](const Config& c) { return !c.custom_model.empty(); });
  d.on_older([](int, Json& json) {
    if (const auto decay = json.find("decay"); decay != json.end() && decay->is_number_integer()) {
      const auto at = decay->get<std::int64_t>();
      if (at >= 0 && at < 3) *decay = kDecays[static_cast<std::size_t>(at)];
    }
  });
  return d;
}

ConfigDescription<RunConfig> make_run_description() {
  ConfigDescription<RunConfig> d(kPretrain);
  describe_loop(d);
  d.add("evaluate", &RunConfig::evaluate,
        "CSV or Parquet files to score the model on, every --evaluate-steps and at the end")
      .written("CSV")
      .defaults_to("none");
  d.add("target", &RunConfig::target, "Target column of these files").written("NAME");
  return d;
}

ConfigDescription<PretrainSettings> make_settings_description() {
  ConfigDescription<PretrainSettings> d(kPretrain, 2);
  d.choice("preset", &PretrainSettings::preset, {"default", "nanotabpfn", "speedrun"},
           "Model preset")
      .option_only();  // the model's own settings are stored
  d.choice("recipe", &PretrainSettings::recipe, recipe_names(),
           "Settings with which packaged weights were trained; other options override them")
      .option_only();
  static const ConfigDescription<RunConfig> run = make_run_description();
  d.section("run", &PretrainSettings::run, run);
  d.section("", &PretrainSettings::config, describe_pretrain());
  return d;
}

}  // namespace

const ConfigDescription<PretrainConfig>& describe_pretrain() {
  static const ConfigDescription<PretrainConfig> description = make_description();
  return description;
}

const ConfigDescription<PretrainSettings>& describe_settings() {
  static const ConfigDescription<PretrainSettings> description = make_settings_description();
  return description;
}

PretrainConfig PretrainConfig::suited_to(Device device) {
  PretrainConfig config;
  config.prior.family = "mix";
  config.dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  if (device.is_cpu()) config.window_steps = 4;
  return config;
}

void PretrainConfig::match_target() {
  model.classes = prior.regression ? 0 : prior.classes.high;
  if (prior.regression) {
    model.class_as_number = false;
    model.decoder = models::TabularDecoder::linear;
  }
}

void PretrainConfig::check() const {
  describe_pretrain().check(this);
  model.check();
  if (batches.empty()) prior.check();
}

std::string PretrainConfig::to_json() const { return describe_pretrain().to_json(this).dump(); }

PretrainConfig PretrainConfig::from_json(std::string_view text) {
  PretrainConfig config;
  Json json = parse_settings(kPretrain, text);
  if (json.is_object() && !json.contains("version")) json["version"] = 1;
  describe_pretrain().read(&config, json);
  return config;
}

std::vector<std::string> differences(const PretrainConfig& before, const PretrainConfig& now) {
  const auto& fields = describe_pretrain();
  return config_differences(fields.to_json(&before), fields.to_json(&now));
}

std::string PretrainSettings::to_json() const { return describe_settings().to_json(this).dump(2); }

PretrainSettings resolve_settings(std::string_view base_text, std::string_view given_text,
                                  Device device) {
  const Json base = parse_settings(kPretrain, base_text);
  const Json given = parse_settings(kPretrain, given_text);
  PretrainSettings settings;
  settings.config = PretrainConfig::suited_to(device);
  const auto& description = describe_settings();
  if (base.empty()) {
    PretrainSettings first;
    // For the preset and the recipe, which other settings override.
    description.read(&first, given);
    settings.config.model = models::TabularConfig::preset(first.preset);
    description.read(&settings, parse_settings(kPretrain, recipe_settings(first.recipe)));
  } else {
    description.read(&settings, base);
  }
  description.read(&settings, given);
  PretrainConfig& config = settings.config;
  if (has_setting(given, "seed") && !has_setting(given, "prior_seed"))
    config.prior.seed = config.seed;
  if (settings.run.steps == 0 && settings.run.seconds == 0) settings.run.steps = 1000;
  if (config.schedule.decay != optim::Decay::constant) {
    if (settings.run.steps == 0) {
      fail(ErrorKind::invalid_argument, kPretrain,
           "decay: a learning-rate decay ends at the last step; set steps too");
    }
    config.schedule.total = settings.run.steps;
  }
  config.match_target();
  config.check();
  return settings;
}

std::string settings_of_run(const std::string& folder) {
  if (auto settings = settings_in(folder, kPretrain)) return *settings;
  const auto newest = CheckpointFolder(folder).load_newest();
  if (!newest.has_value()) return "{}";
  const auto config = PretrainConfig::from_json(newest->configuration);
  return config.to_json();
}

}  // namespace causeway::train
