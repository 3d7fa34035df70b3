// GPT-2: training steps, and text generation with a key-value cache. Training is bound by tensor
// cores, generation for one sequence by memory and the latency of launches.
#include "bench/harness.h"
#include "causeway/models/gpt_decoder.h"
#include "causeway/runtime/pool.h"
#include "causeway/train/gpt_trainer.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

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

struct Decoding {
  const char* preset;
  std::int64_t batch;
  DType dtype;
  const char* suffix = "";  // of the case's name
  bool int8 = false;
};

// The time of one step, from a run of many, and for one sequence that of a prompt of 512 tokens.
void time_generation(const Decoding& how, Device device, const Report& report) {
  Generator generator(1);
  nn::Placement placement;
  placement.generator = &generator;
  models::Gpt model(models::GptConfig::preset(how.preset), placement);
  model.to(how.dtype);
  model.to(device);
  const auto int8 = how.int8 ? std::make_shared<const models::GptInt8>(model) : nullptr;
  models::GptDecoder decoder(model, how.batch, model.config().length, int8);
  const auto time = [&](std::size_t prompt, std::int64_t steps) {
    const std::vector<models::GptDecoder::Tokens> prompts(static_cast<std::size_t>(how.batch),
                                                          models::GptDecoder::Tokens(prompt, 7));
    models::GenerateOptions options;
    options.tokens = steps;
    decoder.generate(prompts, options);
    return milliseconds_of([&] { decoder.generate(prompts, options); });
  };
  const std::int64_t steps = device.is_cuda() ? 512 : 32;
  Result result;
  result.name = fmt::format("generate {} batch {}{}, per step", how.preset, how.batch, how.suffix);
  result.ms = result.ms_best = time(3, steps) / static_cast<double>(steps);
  const auto bytes_per_weight = how.int8 ? 1.0 : static_cast<double>(size_of(how.dtype));
  result.bandwidth =
      bytes_per_weight * static_cast<double>(model.config().n_parameters()) / result.ms * 1e3;
  report(result);
  constexpr std::int64_t kPrompt = 512;
  const bool emulated = device.is_cpu() && size_of(how.dtype) == 2;  // takes seconds
  if (how.batch > 1 || model.config().length <= kPrompt || emulated) return;
  Result prompt;
  prompt.name = fmt::format("prompt of {} tokens {}{}", kPrompt, how.preset, how.suffix);
  std::vector<double> times;
  for (int i = 0; i < (device.is_cuda() ? 9 : 1); ++i) {
    times.push_back(time(kPrompt, 1) - time(1, 1));
  }
  std::ranges::sort(times);
  prompt.ms = times[times.size() / 2];
  prompt.ms_best = times.front();
  prompt.flops = model.config().step_flops(1, kPrompt) / 3 / prompt.ms * 1e3;
  report(prompt);
}

}  // namespace

void run_gpt(Device device, const Report& report) {
  using models::Recompute;
  if (device.is_cpu()) {
    time_training("bytes", 16, Recompute::none, device, report);
    time_generation({"bytes", 1, DType::f32}, device, report);
    time_generation({"gpt2", 1, DType::f32}, device, report);
    time_generation({"gpt2", 1, DType::bf16, " bf16"}, device, report);
    time_generation({"gpt2", 1, DType::f32, " int8", true}, device, report);
    return;
  }
  for (const std::int64_t batch : {1, 8, 64}) {
    time_generation({"gpt2", batch, DType::bf16}, device, report);
  }
  time_generation({"gpt2", 1, DType::bf16, " int8", true}, device, report);
  time_training("gpt2", 64, Recompute::none, device, report);
  time_training("gpt2", 64, Recompute::mlp, device, report);
  time_training("gpt2", 16, Recompute::none, device, report);
  time_training("gpt2-xl", 8, Recompute::none, device, report);
  time_training("gpt2-xl", 32, Recompute::mlp, device, report);
}

}  // namespace causeway::bench
