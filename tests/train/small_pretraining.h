// A pre-training that takes milliseconds a step on the CPU.
#pragma once

#include "causeway/train/pretrain.h"
#include "tests/train/checkpoints.h"

namespace causeway::train_test {

inline prior::PriorConfig small_prior(std::uint64_t seed = 5) {
  prior::PriorConfig config;
  config.family = "tree";
  config.rows = {20, 20};
  config.features = {1, 12};
  config.classes = {2, 3};
  config.seed = seed;
  return config;
}

inline train::PretrainConfig small_pretraining(std::uint64_t seed = 5) {
  train::PretrainConfig config;
  config.model.width = 16;
  config.model.heads = 2;
  config.model.hidden = 24;
  config.model.layers = 2;
  config.model.thinking = 2;
  config.model.classes = 3;
  config.prior = small_prior(seed);
  config.seed = seed;
  config.batch = 4;
  config.window_steps = 4;
  config.stages = {{0, 16}, {12, 20}};
  config.schedule.warmup = 5;
  config.average = 3;
  config.average_steps = 3;
  return config;
}

// The group of a process that trains alone.
inline dist::Group& alone() {
  static dist::Group group;
  return group;
}

}  // namespace causeway::train_test
