// The configuration of a GPT training run, and how it is made from defaults, files and options.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/models/gpt_config.h"
#include "causeway/optim/schedule.h"
#include "causeway/train/run_loop.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {
template <class C>
class ConfigDescription;
}  // namespace causeway

namespace causeway::train {

inline constexpr const char* kGptTrain = "gpt train";  // in messages

// Everything that determines the result of a run, besides the data.
struct GptTrainConfig {
  models::GptConfig model;
  std::uint64_t seed = 0;        // of the initial weights and the order of the data
  std::int64_t batch = 32;       // sequences per optimizer step, over all ranks
  std::int64_t micro_batch = 0;  // sequences per pass on each rank; gradients are summed in f32; 0:
                                 // all in one pass
  DType dtype = DType::f32;      // of weights and activations; 16-bit types keep f32 master weights
  optim::Schedule schedule = {1e-3, 100, 0, optim::Decay::constant, 0};
  double weight_decay = 0.1;  // of matrices
  double beta2 = 0.95;        // of AdamW
  double max_norm = 1;        // of the gradients
  bool muon = false;          // for the matrices of the layers
  double muon_factor = 0.1;   // of the learning rate, times the square root of the longer side

  void check() const;
  std::string to_json() const;
  static GptTrainConfig from_json(std::string_view text);
};

const ConfigDescription<GptTrainConfig>& describe_gpt_train();

// Where the tokens come from.
struct GptDataConfig {
  std::vector<std::string> data;  // text, .jsonl, folders, globs, or token shards (.bin)
  std::string tokenizer = {};     // "bytes" or a tokenizer.json; empty: bytes for text
  double validation = 0.05;       // share of the tokens that is held out, at the end
  std::string separator = {};     // see data::TextSourceOptions
  std::string pattern = "{text}";
  std::string answer = {};
};

struct GptRunConfig : LoopConfig {
  std::int64_t evaluate_batches = 16;  // of the held-out tokens, for the validation loss
  std::int64_t sample_steps = 0;       // between samples, besides the last; 0: none
  std::int64_t sample_tokens = 200;
  std::string prompt = "\n";
};

// Everything that `causeway gpt train` and cw.gpt.train take.
struct GptSettings {
  GptTrainConfig config;
  GptDataConfig data;
  GptRunConfig run;
  std::string preset;  // of the model; empty: "bytes" for the byte tokenizer, else "gpt2"
  std::string init;    // a run or model file whose weights training begins with; empty: random ones

  std::string to_json() const;
};

const ConfigDescription<GptSettings>& describe_gpt_settings();

// The one place where defaults are resolved. `base` holds the settings of an earlier run, or is
// "{}"; `given` what the user asked for, which comes last. The vocabulary is set later, from the
// tokenizer. Throws invalid_argument and format errors.
GptSettings resolve_gpt_settings(std::string_view base, std::string_view given, Device device);

// The settings of the run in a folder, for a run that resumes: its config.json, or else the
// configuration in its newest checkpoint, which does not name the data. Where there is neither,
// "{}" with a warning.
std::string gpt_settings_of_run(const std::string& folder);

}  // namespace causeway::train
