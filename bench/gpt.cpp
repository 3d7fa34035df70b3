// GPT-2: training steps, and text generation with a key-value cache. Training is bound by tensor
// cores, generation for one sequence by memory and the latency of launches.
#include "bench/harness.h"
#include "causeway/models/gpt_decoder.h"
#include "causeway/runtime/pool.h"
#include "causeway/train/gpt_trainer.h"

#include <chrono>
#include <random>
#include <string>

#include <fmt/format.h>

namespace causeway::bench {

namespace {

data::TokenData random_tokens(std::int64_t count, std::int64_t vocabulary) {
  std::mt19937 random(1);
  std::vector<data::TokenId> ids;
  ids.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<data::TokenId>(random() % static_cast<unsigned>(vocabulary)));
  }
  return data::TokenData::from(std::move(ids));
}

void time_training(const char* preset, std::int64_t batch, models::Recompute recompute,
                   Device device, const Report& report) {
  train::GptTrainConfig config;
  config.model = models::GptConfig::preset(preset);
  config.model.recompute = recompute;
  config.batch = batch;
  config.dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  const std::int64_t length = config.model.length;
  Pool& pool = pool_of(device);
  pool.release_cached();
  dist::Group group;
  train::GptTrainer trainer(config, random_tokens(batch * length * 4, config.model.vocabulary), {},
                            device, group);
  const int warm_up = device.is_cuda() ? 3 : 1;
  for (int i = 0; i < warm_up; ++i) trainer.advance();
  synchronize(device);
  const std::string kept = recompute == models::Recompute::none  ? ""
                           : recompute == models::Recompute::mlp ? ", recompute mlp"
                                                                 : ", recompute layers";
  Result result = measure({fmt::format("train {} {}x{}{}", preset, batch, length, kept), 0,
                           config.model.step_flops(batch, length), [&] { trainer.advance(); }},
                          device);
  const MemoryStats held = pool.stats();
  result.peak_gib = static_cast<double>(held.current + held.cached) / (1 << 30);
  report(result);
}

// The time of one step, from a run of many.
void time_generation(const char* preset, std::int64_t batch, bool int8, Device device,
                     const Report& report) {
  Generator generator(1);
  nn::Placement placement;
  placement.generator = &generator;
  models::Gpt model(models::GptConfig::preset(preset), placement);
  if (device.is_cuda()) model.to(DType::bf16);
  model.to(device);
  const std::int64_t steps = device.is_cuda() ? 512 : 32;
  models::GptDecoder decoder(model, batch, model.config().length, int8);
  const std::vector<models::GptDecoder::Tokens> prompts(static_cast<std::size_t>(batch), {1, 2, 3});
  models::GenerateOptions options;
  options.tokens = steps;
  decoder.generate(prompts, options);
  const auto start = std::chrono::steady_clock::now();
  decoder.generate(prompts, options);
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  Result result;
  result.name = fmt::format("generate {} batch {}{}, per step", preset, batch, int8 ? " int8" : "");
  result.ms = result.ms_best = ms / static_cast<double>(steps);
  const double bytes_per_weight = int8 ? 1 : device.is_cuda() ? 2 : 4;
  result.bandwidth =
      bytes_per_weight * static_cast<double>(model.config().n_parameters()) / result.ms * 1e3;
  report(result);
}

}  // namespace

void run_gpt(Device device, const Report& report) {
  using models::Recompute;
  if (device.is_cpu()) {
    time_training("bytes", 16, Recompute::none, device, report);
    time_generation("bytes", 1, false, device, report);
    time_generation("gpt2", 1, false, device, report);
    time_generation("gpt2", 1, true, device, report);
    return;
  }
  for (const std::int64_t batch : {1, 8, 64}) time_generation("gpt2", batch, false, device, report);
  time_generation("gpt2", 1, true, device, report);
  time_training("gpt2", 64, Recompute::none, device, report);
  time_training("gpt2", 64, Recompute::mlp, device, report);
  time_training("gpt2", 16, Recompute::none, device, report);
  time_training("gpt2-xl", 32, Recompute::mlp, device, report);
}

}  // namespace causeway::bench
