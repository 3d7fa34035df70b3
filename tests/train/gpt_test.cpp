// GPT training: steps, accumulation, resume, data and settings.
#include "causeway/train/gpt_run.h"

#include "causeway/core/error.h"
#include "causeway/models/gpt_file.h"
#include "tests/data/scratch.h"
#include "tests/tensor/devices.h"
#include "tests/train/counting_tokens.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace causeway {
namespace {

namespace fs = std::filesystem;
using train::GptTrainConfig;
using train::GptTrainer;
using train_test::counting;

GptTrainConfig tiny() {
  GptTrainConfig config;
  config.model = models::GptConfig::preset("bytes");
  config.model.length = 16;
  config.model.width = 32;
  config.model.layers = 1;
  config.model.heads = 2;
  config.batch = 4;
  config.schedule.warmup = 2;
  return config;
}

std::map<std::string, std::vector<double>> weights(GptTrainer& trainer) {
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, tensor] : trainer.model().state()) {
    all[name] = tensor.to(Device::cpu()).to(DType::f64).to_vector<double>();
  }
  return all;
}

void advance(GptTrainer& trainer, int steps) {
  for (int i = 0; i < steps; ++i) trainer.advance();
}

TEST(GptTrainer, Learns) {
  dist::Group group;
  for (const bool muon : {false, true}) {
    GptTrainConfig config = tiny();
    config.muon = muon;
    config.schedule.peak = 1e-2;
    GptTrainer trainer(config, counting(2000), counting(200), Device::cpu(), group);
    advance(trainer, 5);
    const double before = trainer.progress().loss;
    advance(trainer, 60);
    EXPECT_GT(before, 3);
    EXPECT_LT(trainer.progress().loss, before / 2);
    EXPECT_LT(*trainer.validation_loss(2), 1);
  }
}

TEST(GptTrainer, PartsOfABatchAddUp) {
  dist::Group group;
  GptTrainConfig config = tiny();
  GptTrainer whole(config, counting(2000), {}, Device::cpu(), group);
  config.micro_batch = 1;
  GptTrainer parts(config, counting(2000), {}, Device::cpu(), group);
  EXPECT_EQ(whole.validation_loss(1), std::nullopt);
  for (int step = 0; step < 5; ++step) {
    advance(whole, 1);
    advance(parts, 1);
    EXPECT_NEAR(whole.progress().loss, parts.progress().loss, 1e-5);
  }
  config.micro_batch = 3;
  EXPECT_THROW(GptTrainer(config, counting(2000), {}, Device::cpu(), group), Error);
  config.micro_batch = 0;
  EXPECT_THROW(GptTrainer(config, counting(9), {}, Device::cpu(), group), Error);
}

void expect_resume_equals_unbroken_run(Device device, DType dtype) {
  dist::Group group;
  GptTrainConfig config = tiny();
  config.dtype = dtype;
  GptTrainer whole(config, counting(3000), {}, device, group);
  advance(whole, 4);
  const train::Checkpoint checkpoint = whole.checkpoint();
  GptTrainer resumed(config, counting(3000), {}, device, group);
  resumed.restore(checkpoint);
  EXPECT_EQ(resumed.step(), 4);
  advance(whole, 4);
  advance(resumed, 4);
  EXPECT_EQ(weights(whole), weights(resumed));
  config.model.width = 64;
  GptTrainer other(config, counting(3000), {}, device, group);
  EXPECT_THROW(other.restore(checkpoint), Error);
}

TEST(GptTrainer, ResumeEqualsUnbrokenRun) {
  expect_resume_equals_unbroken_run(Device::cpu(), DType::f32);
  expect_resume_equals_unbroken_run(Device::cpu(), DType::bf16);
}

TEST(GpuGptTrainer, ResumeEqualsUnbrokenRun) {
  CAUSEWAY_REQUIRE_GPU();
  expect_resume_equals_unbroken_run(Device::cuda(), DType::f32);
}

TEST(GpuGptTrainer, ResumeEqualsUnbrokenRunInBf16AndF16) {
  CAUSEWAY_REQUIRE_GPU();
  expect_resume_equals_unbroken_run(Device::cuda(), DType::bf16);
  expect_resume_equals_unbroken_run(Device::cuda(), DType::f16);
}

// Writes a file into the folder and returns its path.
std::string write(const data_test::Scratch& folder, const char* name, const std::string& text) {
  data_test::put(folder / name, text);
  return (folder / name).string();
}

TEST(GptData, TextIsTokenizedAndSplit) {
  const data_test::Scratch folder;
  train::GptDataConfig config;
  config.data = {write(folder, "one.txt", std::string(1000, 'a') + std::string(1000, 'b'))};
  config.validation = 0.25;
  const auto one = train::load_gpt_data(config, 257, 0);
  EXPECT_EQ(one.training.size() + one.validation->size(), 2001);
  EXPECT_NEAR(static_cast<double>(one.validation->size()), 500, 2);
  config.data = {write(folder, "pairs.jsonl", "{\"q\": \"ab\", \"a\": \"xyz\"}\n")};
  config.pattern = "{q}={a}";
  config.answer = "a";
  config.validation = 0;
  const auto pairs = train::load_gpt_data(config, 257, 0);
  ASSERT_EQ(pairs.training.size(), 7);
  std::vector<std::int64_t> targets(7);
  pairs.training.read_targets(0, targets);
  EXPECT_EQ(targets, (std::vector<std::int64_t>{256, -100, -100, -100, 'x', 'y', 'z'}));
  config.data = {};
  EXPECT_THROW(train::load_gpt_data(config, 257, 0), Error);
  config.data = {write(folder, "empty.txt", "")};
  EXPECT_THROW(train::load_gpt_data(config, 257, 0), Error);
}

TEST(GptSettings, DefaultsAndErrors) {
  const auto resolve = [](const char* given) {
    return train::resolve_gpt_settings("{}", given, Device::cpu());
  };
  EXPECT_EQ(resolve("{}").config.model.width, 128);
  EXPECT_EQ(resolve(R"({"data": ["x.bin"]})").config.model.width, 768);
  EXPECT_EQ(resolve(R"({"preset": "llama-tiny", "layers": 3})").config.model.layers, 3);
  EXPECT_EQ(resolve(R"({"steps": 50})").config.schedule.total, 50);
  EXPECT_EQ(resolve(R"({"seconds": 5})").config.schedule.decay, optim::Decay::constant);
  EXPECT_THROW(resolve(R"({"seconds": 5, "decay": "cosine"})"), Error);
  EXPECT_THROW(resolve(R"({"preset": "gpt5"})"), Error);
  EXPECT_THROW(resolve(R"({"learning_rat": 1})"), Error);
  const auto settings = resolve(R"({"steps": 50, "muon": true})");
  const auto again = train::resolve_gpt_settings(settings.to_json(), "{}", Device::cpu());
  EXPECT_EQ(again.to_json(), settings.to_json());
}

TEST(GptRun, WritesSamplesAndAModelAndResumes) {
  const data_test::Scratch folder;
  train::GptRunOptions options;
  options.settings = train::resolve_gpt_settings(
      "{}", R"({"steps": 6, "length": 16, "width": 32, "layers": 1, "heads": 2, "batch": 4,
                "log_steps": 3, "sample_steps": 3, "sample_tokens": 5, "prompt": "ab"})",
      Device::cpu());
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcdefg\n";
  options.settings.data.data = {write(folder, "text.txt", text)};
  options.folder = folder / "run";
  dist::Group group;
  std::vector<train::GptLine> lines;
  const auto keep = [&](const train::GptLine& line) { lines.push_back(line); };
  const auto result = train::run_gpt(options, Device::cpu(), group, keep);
  EXPECT_EQ(result.last.step, 6);
  EXPECT_EQ(result.last.tokens, 6 * 4 * 16);
  EXPECT_TRUE(result.last.score.has_value());
  EXPECT_TRUE(result.last.sample.starts_with("ab"));
  EXPECT_TRUE(lines[0].sample.starts_with("ab"));
  for (const char* name : {"model.safetensors", "config.json", "log.jsonl", "samples.jsonl"}) {
    EXPECT_TRUE(fs::exists(options.folder / name)) << name;
  }
  EXPECT_THROW(train::run_gpt(options, Device::cpu(), group, keep), Error);
  options.resume = true;
  options.settings.run.steps = 8;
  EXPECT_EQ(train::run_gpt(options, Device::cpu(), group, keep).last.step, 8);
}

TEST(GptRun, InitBeginsWithTheWeightsOfAModel) {
  const data_test::Scratch folder;
  const std::string text = write(folder, "one.txt", std::string(3000, 'a'));
  const fs::path first = folder / "first";
  const fs::path second = folder / "second";
  dist::Group group;
  const auto train_in = [&](const fs::path& out, nlohmann::json given, bool resume = false) {
    given["data"] = nlohmann::json::array({text});
    train::GptRunOptions options;
    options.settings = train::resolve_gpt_settings(resume ? train::gpt_settings_of_run(out) : "{}",
                                                   given.dump(), Device::cpu());
    options.settings.run.sample_tokens = 0;
    options.folder = out;
    options.resume = resume;
    return train::run_gpt(options, Device::cpu(), group, [](const train::GptLine&) {});
  };
  const nlohmann::json sizes{
      {"width", 32}, {"layers", 1}, {"heads", 2}, {"length", 16}, {"norm", "rms"}};
  nlohmann::json given = sizes;
  given["steps"] = 30;
  given["warmup"] = 1;
  given["learning_rate"] = 1e-2;
  const double learned = train_in(first, given).last.loss;
  // A step of almost nothing: the loss is that of the initial weights.
  const nlohmann::json still{{"steps", 1}, {"learning_rate", 1e-12}, {"init", first.string()}};
  const auto continued = train_in(second, still);
  EXPECT_LT(continued.last.loss, learned);
  EXPECT_EQ(models::read_gpt(second / "model.safetensors").config.norm, models::GptNorm::rms);
  // A resumed run does not need the model any more.
  fs::remove_all(first);
  EXPECT_EQ(train_in(second, {{"steps", 2}}, true).last.step, 2);
  EXPECT_THROW(train_in(folder / "third", still), Error);
  const nlohmann::json both{{"init", second.string()}, {"preset", "bytes"}};
  EXPECT_THROW(train_in(folder / "third", both), Error);
  const nlohmann::json wider{{"init", second.string()}, {"width", 64}};
  EXPECT_THROW(train_in(folder / "third", wider), Error);
}

}  // namespace
}  // namespace causeway
