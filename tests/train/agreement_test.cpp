// Ranks that differ are refused, and nothing is saved after one is lost.
#include "causeway/train/agreement.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/train/gpt_trainer.h"
#include "causeway/train/pretrain_run.h"
#include "causeway/train/run_loop.h"
#include "tests/data/scratch.h"
#include "tests/dist/thread_ranks.h"
#include "tests/train/small_pretraining.h"

#include <filesystem>

namespace causeway::train {
namespace {

using dist::errors_of_ranks;
namespace fs = std::filesystem;

TEST(Agreement, OtherSettingsOfPretrainingAreRefused) {
  const auto expect_refused = [](const char* words, const auto& change) {
    const auto messages = errors_of_ranks(2, [&](dist::Group& group) {
      PretrainConfig config = train_test::small_pretraining();
      if (group.rank() == 1) change(config);
      const Pretrainer trainer(config, Device::cpu(), group);
    });
    for (const std::string& message : messages) {
      EXPECT_CONTAINS(message, "rank 1 has other settings than rank 0");
      EXPECT_CONTAINS(message, words);
    }
  };
  expect_refused("seed 9 instead of 5", [](PretrainConfig& config) { config.seed = 9; });
  expect_refused("batch 8 instead of 4", [](PretrainConfig& config) { config.batch = 8; });
  expect_refused("learning_rate", [](PretrainConfig& config) { config.schedule.peak *= 2; });
  expect_refused("prior.", [](PretrainConfig& config) { config.prior.features = {1, 11}; });
  expect_refused("prior.binary_share 0.5",
                 [](PretrainConfig& config) { config.prior.binary_share = 0.5; });
}

TEST(Agreement, OtherStepsAreRefused) {
  const auto messages = errors_of_ranks(2, [](dist::Group& group) {
    Pretrainer trainer(train_test::small_pretraining(), Device::cpu(), group);
    RunOptions options;
    options.config.steps = 4;
    options.config.log_steps = group.rank() == 1 ? 3 : 2;
    run_pretraining(trainer, group, options, {});
  });
  for (const std::string& message : messages) {
    EXPECT_CONTAINS(message, "rank 1 has other settings than rank 0: log_steps 3 instead of 2");
  }
}

TEST(Agreement, OtherSettingsOrTextOfAGptAreRefused) {
  for (const bool other_text : {false, true}) {
    const auto messages = errors_of_ranks(2, [&](dist::Group& group) {
      GptTrainConfig config;
      config.model = models::GptConfig::preset("bytes");
      config.model.length = 8;
      config.batch = 2;
      const bool differs = group.rank() == 1;
      if (differs && !other_text) config.schedule.peak = 0.5;
      const std::vector<data::TokenId> ids(differs && other_text ? 101 : 100);
      const GptTrainer trainer(config, data::TokenData::from(ids), {}, Device::cpu(), group);
    });
    for (const std::string& message : messages) {
      EXPECT_CONTAINS(message, "rank 1 has other settings than rank 0");
      EXPECT_CONTAINS(message, other_text ? "tokens 101 instead of 100" : "learning_rate 0.5");
    }
  }
}

TEST(Agreement, OtherWeightsAreAnError) {
  const auto messages = errors_of_ranks(3, [](dist::Group& group) {
    const std::vector<Tensor> parameters{ones({3}), ones({2, 2})};
    require_same_weights("test", group, parameters);
    if (group.rank() == 2) parameters[1].copy_from(full({}, 2));
    require_same_weights("test", group, parameters);
  });
  for (const std::string& message : messages) {
    EXPECT_CONTAINS(message, "the weights of rank 2 differ from those of rank 0");
    EXPECT_CONTAINS(message, "parameter 1 of shape (2, 2)");
  }
}

// A job without collectives, like one that replays graphs; rank 1 is lost in its last step.
class LosingJob final : public TrainingJob {
 public:
  explicit LosingJob(dist::Group& group) : group_(group) {}

  Device device() const override { return Device::cpu(); }
  std::int64_t step() const override { return step_; }
  void advance() override {
    ++step_;
    if (step_ < 3) return;
    if (group_.rank() == 1) fail(ErrorKind::io, "test", "no such file");
    std::this_thread::sleep_for(std::chrono::seconds(1));  // until the loss is noticed
  }
  Progress progress() override { return {}; }
  std::vector<NamedNumber> rates(double, std::int64_t) override { return {}; }
  std::optional<double> score() override { return std::nullopt; }
  void report(const LoopLine&) override {}
  Checkpoint checkpoint() override { return {}; }
  void restore(const Checkpoint&) override {}
  void save_model(const fs::path& folder) override { fs::create_directory(folder / "model"); }

 private:
  dist::Group& group_;
  std::int64_t step_ = 0;
};

TEST(Agreement, NothingIsSavedAfterARankIsLost) {
  const data_test::Scratch scratch;
  const fs::path folder = scratch / "lost_rank";
  const auto messages = errors_of_ranks(2, [&](dist::Group& group) {
    LosingJob job(group);
    LoopOptions options;
    options.operation = "test";
    options.folder = folder;
    options.config.steps = 3;
    run_loop(job, group, options);
  });
  EXPECT_CONTAINS(messages[0], "rank 1 failed");
  EXPECT_TRUE(CheckpointFolder(folder).list().empty());
  EXPECT_FALSE(fs::exists(folder / "model"));
}

}  // namespace
}  // namespace causeway::train
