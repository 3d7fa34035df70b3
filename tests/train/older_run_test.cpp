// A run of version 0.1.0 resumes: its checkpoint of step 6 is in tests/train/data, with the weights
// that version had at step 12.
#include "causeway/data/safetensors.h"
#include "causeway/train/pretrain_run.h"
#include "tests/data/scratch.h"
#include "tests/files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace causeway {
namespace {

namespace fs = std::filesystem;

TEST(OlderRun, ResumesWithItsOwnSettings) {
  const fs::path data = test::test_folder() / "train/data/run-0.1.0";
  const data_test::Scratch scratch;
  const fs::path run = scratch / "run-0.1.0";
  fs::create_directories(run);
  fs::copy(data / "checkpoints", run / "checkpoints", fs::copy_options::recursive);
  const std::string base = train::settings_of_run(run.string());
  const auto settings = train::resolve_settings(base, R"({"steps": 12})", Device::cpu());
  EXPECT_EQ(settings.config.model.width, 16);
  EXPECT_EQ(settings.config.prior.family, "mlp");
  EXPECT_EQ(settings.config.prior.seed, 5u);
  EXPECT_EQ(settings.config.schedule.decay, optim::Decay::cosine);
  EXPECT_EQ(settings.config.schedule.total, 12);

  dist::Group group;
  train::Pretrainer trainer(settings.config, Device::cpu(), group);
  train::RunOptions options;
  options.folder = run;
  options.resume = true;
  options.config = settings.run;
  options.settings = settings.to_json();
  double seconds = 0;
  const auto result = train::run_pretraining(trainer, group, options, [&](const auto& line) {
    if (seconds == 0) seconds = line.seconds;
  });
  EXPECT_EQ(result.last.step, 12);
  EXPECT_GT(seconds, 0.1);  // the older run's time counts

  const auto expected = load_safetensors(data / "expected-step-12.safetensors").tensors;
  const auto found = trainer.model().state();
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const auto a = tensor.to(DType::f64).to_vector<double>();
    const auto b = found.at(name).to(DType::f64).to_vector<double>();
    ASSERT_EQ(a.size(), b.size()) << name;
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << name << " " << i;
  }
  EXPECT_TRUE(fs::exists(run / "config.json"));
}

}  // namespace
}  // namespace causeway
