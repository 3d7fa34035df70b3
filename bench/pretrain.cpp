// Pre-training steps, from generating datasets to updating weights, and predictions. Bound by
// launches for small tables, by memory and tensor cores for large ones.
#include "bench/harness.h"
#include "causeway/models/predictor.h"
#include "causeway/runtime/pool.h"
#include "causeway/train/pretrain.h"

#include <chrono>
#include <string>

#include <fmt/format.h>

namespace causeway::bench {

namespace {

struct PretrainCase {
  const char* preset;
  const char* family;
  int batch, rows, features;
  int width, layers;
  int steps;  // of one run on a GPU, including the generation of their datasets
};

// The time of one run, since repeated runs would differ.
Result once(const std::string& name, const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  Result result;
  result.name = name;
  result.ms = result.ms_best =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void time(const PretrainCase& of, Device device, const Report& report) {
  train::PretrainConfig config;
  config.model = models::TabularConfig::preset(of.preset);
  config.model.width = of.width;
  config.model.layers = of.layers;
  config.model.hidden = 2 * of.width;
  config.model.classes = 2;
  config.prior.family = of.family;
  config.prior.rows = {of.rows, of.rows};
  config.prior.features = {of.features, of.features};
  config.prior.classes = {2, 2};
  config.batch = of.batch;
  config.muon = false;
  config.average = 1;
  config.average_steps = 1 << 30;
  config.dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  const int steps = device.is_cuda() ? of.steps : 4;
  config.window_steps = steps;
  Pool& pool = pool_of(device);
  pool.release_cached();
  dist::Group group;
  train::Pretrainer trainer(config, device, group);
  for (int i = 0; i < 3; ++i) trainer.advance();
  synchronize(device);
  const std::string name = fmt::format("pretrain {},{},{} width {} layers {}", of.batch, of.rows,
                                       of.features, of.width, of.layers);
  const auto advance = [&](int count) {
    return [&trainer, count] {
      for (int i = 0; i < count; ++i) trainer.advance();
    };
  };
  // The datasets of these steps are already generated: the difference is the cost of generation.
  if (device.is_cuda()) {
    const int rest = steps - 3;
    const auto run = [&] {
      advance(rest)();
      synchronize(device);
    };
    report(once(fmt::format("{}, {} pregenerated datasets", name, of.batch * rest), run));
  }
  Result result = measure(
      {fmt::format("{}, {} datasets", name, of.batch * steps), 0, 0, advance(steps)}, device);
  // All device memory, including cached blocks.
  const MemoryStats held = pool.stats();
  result.peak_gib = static_cast<double>(held.current + held.cached) / (1 << 30);
  report(result);
}

// Steps with the settings of `causeway pretrain`, datasets included. A step's rate is that of
// TabularConfig::step_flops.
void time_settings(const std::string& name, std::string_view settings, int steps, Device device,
                   const Report& report) {
  const train::PretrainConfig config = train::resolve_settings("{}", settings, device).config;
  pool_of(device).release_cached();
  dist::Group group;
  train::Pretrainer trainer(config, device, group);
  const auto advance = [&] {
    for (int i = 0; i < steps; ++i) trainer.advance();
    synchronize(device);
  };
  advance();  // records the graphs of most shapes
  trainer.take_flops();
  trainer.take_tokens();
  Result result = once(name, advance);
  result.flops = trainer.take_flops() / result.ms * 1e3;
  result.name += fmt::format(", {:.1f}M tokens", static_cast<double>(trainer.take_tokens()) / 1e6);
  report(result);
}

// Predictions with a model of the packaged classifier's shape, including host work, as
// cw.TabularClassifier does.
void time_prediction(std::int64_t context, std::int64_t features, std::int64_t queries,
                     Device device, const Report& report) {
  Generator generator(1);
  nn::Placement placement;
  placement.generator = &generator;
  const models::TabularConfig config =
      train::resolve_settings("{}", R"({"recipe": "classifier"})", device).config.model;
  auto model = std::make_shared<models::TabularTransformer>(config, placement);
  if (device.is_cuda()) model->to(DType::bf16);
  model->to(device);
  const Tensor x = generator.normal({context, features}, 0, 1, DType::f64);
  const Tensor classes = generator.integers({context}, 0, 2).to(DType::f64);
  const Tensor query = generator.normal({queries, features}, 0, 1, DType::f64);
  pool_of(device).release_cached();
  models::TabularPredictor predictor(model, {});
  const auto both = [&] {
    predictor.fit(x, classes, 2);
    predictor.predict_proba(query);
  };
  if (device.is_cuda()) both();  // warm-up
  const std::string name = fmt::format("predict {} from {} x {}", queries, context, features);
  const auto timed = [&](const std::string& text, const std::function<void()>& run) {
    Result result = once(text, run);
    const MemoryStats held = pool_of(device).stats();
    if (device.is_cuda())
      result.peak_gib = static_cast<double>(held.current + held.cached) / (1 << 30);
    report(result);
  };
  timed("fit and " + name, both);
  timed(name, [&] { predictor.predict_proba(query); });
}

}  // namespace

void run_pretrain(Device device, const Report& report) {
  time_prediction(1000, 20, 1000, device, report);
  if (device.is_cuda()) {
    time_prediction(10000, 100, 1000, device, report);
    time_prediction(50000, 100, 10000, device, report);
  }
  time({"nanotabpfn", "mlp", 32, 150, 5, 96, 3, 64}, device, report);
  if (device.is_cpu()) return;
  time({"nanotabpfn", "mlp", 32, 1000, 11, 96, 3, 64}, device, report);
  time({"nanotabpfn", "mlp", 2, 1000, 11, 256, 5, 64}, device, report);
  time({"nanotabpfn", "mlp", 64, 1024, 20, 256, 5, 16}, device, report);
  time_settings("pretrain default 32,1024,20, 128 steps", R"({"rows": 1024, "features": 20})", 128,
                device, report);
  time_settings("pretrain default 32,256,20, 128 steps", R"({"rows": 256, "features": 20})", 128,
                device, report);
  time_settings("pretrain recipe classifier, 256 rows, 256 steps", R"({"recipe": "classifier"})",
                256, device, report);
}

}  // namespace causeway::bench
