// The configuration of a pre-training run, and how it is made from defaults, files and options.
#pragma once

#include "causeway/models/tabular.h"
#include "causeway/optim/schedule.h"
#include "causeway/prior/config.h"
#include "causeway/train/run_loop.h"
#include "causeway/train/table_stream.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::train {

// Everything that determines the result of a run.
struct PretrainConfig {
  models::TabularConfig model;
  prior::PriorConfig prior;
  std::uint64_t seed = 0;          // of the initial weights; the prior has its own
  std::int64_t batch = 32;         // datasets per optimizer step, over all ranks
  std::int64_t window_steps = 32;  // steps whose datasets are generated together
  std::int64_t dataset_uses = 1;   // the second one has rows, features and classes reversed
  std::vector<RowStage> stages;
  DType dtype = DType::f32;  // of weights and activations; bf16 keeps f32 master weights
  optim::Schedule schedule = {2e-3, 100, 0, optim::Decay::constant, 0};
  double weight_decay = 0.01;
  double max_norm = 1;  // of the gradients
  bool muon = true;     // for the layers' matrices, else schedule-free AdamW for all parameters
  double muon_factor =
      0.1;  // of the learning rate, times the square root of a matrix's longer side
  std::int64_t average = 10;  // snapshots of the weights that are averaged
  std::int64_t average_steps = 50;
  // Checks every result and gradient of every step and throws at the first that is not finite;
  // slow.
  bool detect_anomaly = false;
  // What a run was given as code (run_parts.h): kinds and names, which a resumed run must match.
  // Empty for what the settings describe.
  std::string batches;
  std::string families;  // "circles=0.5,moons=0.25"
  std::string custom_model;

  // Defaults for a device: bf16 and long windows on a GPU.
  static PretrainConfig suited_to(Device device);
  // Sets the model's outputs from the prior's target.
  void match_target();
  // Throws invalid_argument.
  void check() const;

  std::string to_json() const;
  static PretrainConfig from_json(std::string_view text);
};

const ConfigDescription<PretrainConfig>& describe_pretrain();

// The settings that differ, as "batch 8 instead of 4", "model.width 32 instead of 16".
std::vector<std::string> differences(const PretrainConfig& before, const PretrainConfig& now);

// When a run ends, what it writes, and the tables that it scores the model on.
struct RunConfig : LoopConfig {
  std::vector<std::string> evaluate;  // CSV or Parquet files
  std::string target = "target";      // their target column
};

// Everything that `causeway pretrain` and cw.pretrain take.
struct PretrainSettings {
  PretrainConfig config;
  RunConfig run;
  std::string preset = "default";  // of the model
  std::string recipe = "none";     // of all settings: see recipe.h

  std::string to_json() const;
};

const ConfigDescription<PretrainSettings>& describe_settings();

// The one place where defaults are resolved. `base` holds the settings of an earlier run, or is
// "{}"; `given` what the user asked for, which comes last. Both are JSON objects, with sections or
// flat. Throws invalid_argument and format errors.
PretrainSettings resolve_settings(std::string_view base, std::string_view given, Device device);

// The settings of the run in a folder, for a run that resumes: its config.json, or else the
// configuration in its newest checkpoint. "{}" where there is neither.
std::string settings_of_run(const std::string& folder);

}  // namespace causeway::train
