// Files of a GPT-2 124M in f32: loading its model of 498 MB, and a checkpoint of 1.5 GB, which
// training waits for until its state is copied. Bound by memory, hashes and the disk.
#include "bench/harness.h"
#include "causeway/models/gpt_file.h"
#include "causeway/train/checkpoint_writer.h"
#include "causeway/train/gpt_trainer.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include <unistd.h>

namespace causeway::bench {

namespace {

Result result_of(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Result result;
  result.name = name;
  result.ms = times[times.size() / 2];
  result.ms_best = times[0];
  return result;
}

}  // namespace

void run_checkpoint(Device device, const Report& report) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("causeway-bench-{}", ::getpid());
  train::GptTrainConfig config;
  config.batch = 1;
  config.dtype = DType::f32;
  dist::Group group;
  const auto tokens = data::TokenData::from(std::vector<data::TokenId>(4096, 7));
  train::GptTrainer trainer(config, tokens, {}, device, group);
  std::filesystem::create_directories(folder);
  models::save_gpt(folder / "model.safetensors", trainer.model());
  std::vector<double> loads, stalls, writes, restores;
  for (int i = 0; i < 5; ++i) {
    loads.push_back(milliseconds_of([&] {
      models::load_gpt(folder / "model.safetensors", {DType::f32, device, nullptr});
      synchronize(device);
    }));
  }
  const train::CheckpointFolder checkpoints(folder);
  std::atomic<std::int64_t> saved = -1;
  train::CheckpointWriter writer(checkpoints, saved);
  for (int i = 0; i < 3; ++i) {
    stalls.push_back(milliseconds_of([&] { writer.start(trainer.checkpoint()); }));
    writes.push_back(milliseconds_of([&] { writer.finish(); }));
    restores.push_back(milliseconds_of([&] {
      trainer.restore(*checkpoints.load_newest(device));
      synchronize(device);
    }));
  }
  report(result_of("load gpt2 f32", loads));
  report(result_of("stall of a checkpoint, gpt2 f32", stalls));
  report(result_of("write of a checkpoint, gpt2 f32", writes));
  report(result_of("restore of a checkpoint, gpt2 f32", restores));
  std::filesystem::remove_all(folder);
}

}  // namespace causeway::bench
