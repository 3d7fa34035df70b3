// Runs GPT training in a folder (run_loop.h): data, training, validation, samples of text.
#pragma once

#include "causeway/train/gpt_trainer.h"

#include <filesystem>
#include <functional>
#include <string>

namespace causeway::train {

struct GptRunOptions {
  GptSettings settings;
  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;           // from the newest checkpoint, if there is one
  // Called before the first step, when the folder was checked. Empty: not called.
  std::function<void(const GptMemoryPlan&)> on_start;
};

struct GptLine : LoopLine {  // the score is the validation loss
  std::int64_t tokens = 0;   // trained on
  double tokens_per_second = 0;
  double mfu = 0;      // model FLOPs utilization: FLOP/s by the device's 16-bit peak; 0: unknown
  std::string sample;  // text that the model wrote, prompt included; empty: none
};

struct GptResult {
  GptLine last;
  bool interrupted = false;
};

// A run that is not started: its settings, with the vocabulary of the tokenizer, and its memory.
struct GptPlan {
  GptSettings settings;
  GptMemoryPlan memory;
};

// Reads the data and makes the model, as run_gpt does, but takes no step and writes nothing.
GptPlan plan_gpt(const GptRunOptions& options, Device device, dist::Group& group);

// Trains until a limit or signal; rank 0 calls `report` with every log line. The folder receives
// model.safetensors, tokenizer.json, config.json, log.jsonl, samples.jsonl and checkpoints.
GptResult run_gpt(const GptRunOptions& options, Device device, dist::Group& group,
                  const std::function<void(const GptLine&)>& report);

}  // namespace causeway::train
