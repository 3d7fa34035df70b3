// The JSON of training settings: the description of LoopConfig, for configurations that derive from
// it, and how settings are read.
#pragma once

#include "causeway/core/config.h"
#include "causeway/train/run_loop.h"

#include <string_view>

namespace causeway::train {

// A number of bytes: 8589934592 or "8GiB".
Json bytes_to_json(const std::size_t& bytes);
void bytes_from_json(const Json& json, std::size_t& bytes);

template <class Config>
void describe_loop(ConfigDescription<Config>& d) {
  d.add("steps", &LoopConfig::steps, "Optimizer steps in total")
      .at_least(1)
      .optional()
      .defaults_to("1000 unless seconds are given");
  d.add("seconds", &LoopConfig::seconds, "Seconds of training in total")
      .above(0)
      .optional()
      .defaults_to("no limit");
  d.add("log_steps", &LoopConfig::log_steps, "Steps between log lines").at_least(1);
  d.add("save_steps", &LoopConfig::save_steps, "Steps between checkpoints")
      .at_least(1)
      .optional()
      .defaults_to("by time");
  d.add("save_seconds", &LoopConfig::save_seconds,
        "Seconds between checkpoints without save_steps; more if saving takes over 1% of the time")
      .above(0);
  d.add("keep", &LoopConfig::keep, "Checkpoints kept, besides the best").at_least(1);
  d.add("evaluate_steps", &LoopConfig::evaluate_steps, "Steps between scores, besides the last")
      .at_least(1)
      .optional()
      .defaults_to("only at the end");
  d.template custom<std::size_t>(
       "memory", &Config::memory, "SIZE", bytes_to_json, bytes_from_json,
       "Memory that the run may use on its device, such as 8GiB; larger batches are cut into "
       "micro-batches")
      .defaults_to("what is free; for pretrain on a CPU 4 GiB where that is enough")
      .is_text = true;  // 8G is a number of bytes
}

// Throws a format error of `operation`.
Json parse_settings(const char* operation, std::string_view text);

// Whether there is a setting of this name that is not null.
bool has_setting(const Json& settings, const char* name);

}  // namespace causeway::train
