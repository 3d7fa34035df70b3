// Pre-training on the CPU: the same seed gives the same bits, also after resuming; averaging does
// not change training; the loss falls; a loss that is not finite ends the run.
#include "causeway/train/pretrain.h"

#include "tests/train/small_pretraining.h"

#include <cmath>
#include <numeric>

namespace causeway::train_test {
namespace {

using train::PretrainConfig;
using train::Pretrainer;

std::vector<double> losses_of(Pretrainer& trainer, int n_steps) {
  std::vector<double> losses;
  for (int i = 0; i < n_steps; ++i) {
    trainer.advance();
    losses.push_back(trainer.progress().loss);
  }
  return losses;
}

std::vector<double> losses_of(const PretrainConfig& config, int n_steps) {
  Pretrainer trainer(config, Device::cpu(), alone());
  return losses_of(trainer, n_steps);
}

void expect_same_state(const Checkpoint& found, const Checkpoint& expected) {
  EXPECT_EQ(found.step, expected.step);
  EXPECT_EQ(found.datasets, expected.datasets);
  EXPECT_EQ(found.configuration, expected.configuration);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (const auto& [set, tensors] : expected.tensors) {
    ASSERT_EQ(found.tensors.at(set).size(), tensors.size()) << set;
    for (const auto& [name, tensor] : tensors) {
      SCOPED_TRACE(set + "/" + name);
      data_test::expect_same(found.tensors.at(set).at(name), tensor);
    }
  }
}

// In memory of its own.
Checkpoint copy_of(Checkpoint checkpoint) {
  for (auto& [set, tensors] : checkpoint.tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  }
  return checkpoint;
}

TEST(Pretrain, SameSeedSameLosses) {
  const std::vector<double> losses = losses_of(small_pretraining(), 14);
  EXPECT_EQ(losses, losses_of(small_pretraining(), 14));
  EXPECT_NE(losses, losses_of(small_pretraining(6), 14));
  PretrainConfig other = small_pretraining();
  other.prior.seed = 6;  // the same weights, other datasets
  EXPECT_NE(losses, losses_of(other, 14));
}

struct Kind {
  const char* name;
  bool muon;
  DType dtype;
};

class PretrainResume : public testing::TestWithParam<Kind> {};

// Step 10 is within a window; tables get more rows at step 12.
TEST_P(PretrainResume, TenStepsAndTenMoreEqualTwenty) {
  PretrainConfig config = small_pretraining();
  config.muon = GetParam().muon;
  config.dtype = GetParam().dtype;
  Pretrainer whole(config, Device::cpu(), alone());
  const std::vector<double> expected = losses_of(whole, 20);
  const Scratch scratch;
  std::vector<double> losses;
  {
    Pretrainer first(config, Device::cpu(), alone());
    losses = losses_of(first, 10);
    CheckpointFolder(scratch.folder()).save(first.checkpoint());
    first.advance();  // and is killed
  }
  PretrainConfig fresh = config;
  fresh.seed = 77;  // weights that are all replaced
  Pretrainer second(fresh, Device::cpu(), alone());
  second.advance();
  second.restore(*CheckpointFolder(scratch.folder()).load_newest());
  EXPECT_EQ(second.step(), 10);
  for (const double loss : losses_of(second, 10)) losses.push_back(loss);
  EXPECT_EQ(losses, expected);
  Checkpoint found = second.checkpoint();
  found.configuration = config.to_json();
  expect_same_state(found, whole.checkpoint());
}

INSTANTIATE_TEST_SUITE_P(Optimizers, PretrainResume,
                         testing::Values(Kind{"muon", true, DType::f32},
                                         Kind{"adamw", false, DType::f32},
                                         Kind{"muon_bf16", true, DType::bf16}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Pretrain, AveragedWeightsDoNotChangeTraining) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    PretrainConfig config = small_pretraining();
    config.dtype = dtype;
    Pretrainer trainer(config, Device::cpu(), alone());
    for (const int n_steps : {2, 5}) {  // before the first snapshot, and after two
      losses_of(trainer, n_steps);
      const Checkpoint before = copy_of(trainer.checkpoint());
      bool differs = false;
      trainer.with_averaged_weights([&] {
        for (const auto& [name, tensor] : trainer.model().state()) {
          if (data_test::raw(tensor) != data_test::raw(before.tensors.at("model").at(name))) {
            differs = true;
          }
        }
      });
      EXPECT_TRUE(differs);
      expect_same_state(trainer.checkpoint(), before);
      EXPECT_THROW(trainer.with_averaged_weights([] { throw std::runtime_error("no"); }),
                   std::runtime_error);
      expect_same_state(trainer.checkpoint(), before);
    }
  }
}

TEST(Pretrain, AveragedWeightsAreTheMeanOfSnapshots) {
  PretrainConfig config = small_pretraining();
  config.average = 2;
  config.average_steps = 1;
  Pretrainer trainer(config, Device::cpu(), alone());
  const auto used = [&] {
    std::vector<float> values;
    trainer.with_averaged_weights(
        [&] { values = trainer.model().matrices().front().to_vector<float>(); });
    return values;
  };
  std::vector<std::vector<float>> snapshots;
  for (int step = 0; step < 4; ++step) {
    trainer.advance();
    // Muon's matrices have no average of their own.
    snapshots.push_back(trainer.model().matrices().front().to_vector<float>());
  }
  const std::vector<float> found = used();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], (snapshots[2][i] + snapshots[3][i]) / 2, 1e-6);
  }
}

TEST(Pretrain, SnapshotsDoNotChangeTraining) {
  PretrainConfig often = small_pretraining();
  often.average_steps = 1;
  PretrainConfig never = small_pretraining();
  never.average = 0;
  EXPECT_EQ(losses_of(often, 12), losses_of(never, 12));
}

TEST(Pretrain, TheLossFalls) {
  PretrainConfig config = small_pretraining();
  config.prior.rows = {32, 32};
  config.prior.features = {2, 4};
  config.prior.classes = {2, 2};
  config.stages.clear();
  config.batch = 8;
  config.schedule.peak = 1e-2;
  const std::vector<double> losses = losses_of(config, 100);
  const auto mean = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
  };
  const double first = mean(losses.begin(), losses.begin() + 10);
  const double last = mean(losses.end() - 50, losses.end());
  EXPECT_LT(last, first - 0.1);
  EXPECT_GT(last, 0.05);
}

// The loss of predicting the class frequencies of the context rows.
double loss_of_class_frequencies(const models::Tables& tables) {
  const auto y = tables.y.to_vector<float>();
  const auto sizes = tables.sizes.to_vector<std::int64_t>();
  const auto n_tables = static_cast<std::size_t>(tables.y.size(0));
  const std::size_t n_rows = y.size() / n_tables;
  double sum = 0;
  for (std::size_t table = 0; table < n_tables; ++table) {
    const float* labels = y.data() + table * n_rows;
    const auto known = static_cast<std::size_t>(sizes[3 * table + 2]);
    const double share =
        (std::accumulate(labels, labels + known, 0.0) + 1) / (static_cast<double>(known) + 2);
    double of_table = 0;
    for (std::size_t row = known; row < n_rows; ++row) {
      of_table -= std::log(labels[row] > 0 ? share : 1 - share);
    }
    if (known < n_rows) sum += of_table / static_cast<double>(n_rows - known);
  }
  return sum / static_cast<double>(n_tables);
}

TEST(Pretrain, BeatsClassFrequencies) {
  PretrainConfig config = small_pretraining(0);
  config.model.hidden = 32;
  config.model.group = 1;
  config.model.thinking = 0;
  config.model.classes = 2;
  config.prior.family = "simple";
  config.prior.rows = {32, 32};
  config.prior.features = {4, 4};
  config.prior.classes = {2, 2};
  config.stages.clear();
  config.batch = 8;
  config.schedule.peak = 1e-2;
  config.schedule.warmup = 10;
  Pretrainer trainer(config, Device::cpu(), alone());
  for (int i = 0; i < 320; ++i) trainer.advance();
  trainer.progress();
  train::TableStreamOptions same;
  same.prior = config.prior;
  same.batch = config.batch;
  same.window_steps = config.window_steps;
  train::TableStream stream(same, Device::cpu());
  double counting = 0;
  for (int i = 0; i < 80; ++i) {
    counting += loss_of_class_frequencies(stream.tables(trainer.step())) / 80;
    trainer.advance();
  }
  EXPECT_LT(trainer.progress().loss, counting - 0.1);
}

PretrainConfig exploding() {
  PretrainConfig config = small_pretraining();
  config.schedule = {1e30, 0, 0, optim::Decay::constant, 0};
  return config;
}

TEST(Pretrain, ALossThatIsNotFiniteEndsTheRun) {
  Pretrainer trainer(exploding(), Device::cpu(), alone());
  trainer.advance();
  trainer.progress();
  for (int i = 0; i < 4; ++i) trainer.advance();
  EXPECT_TRUE(says(failure([&] { trainer.progress(); }),
                   "invalid_argument: [pretrain] the mean "
                   "loss of steps 2 to 5 is"));
}

TEST(Pretrain, AnomaliesNameTheStep) {
  PretrainConfig config = exploding();
  config.detect_anomaly = true;
  Pretrainer trainer(config, Device::cpu(), alone());
  trainer.advance();
  EXPECT_TRUE(says(failure([&] {
                     for (int i = 0; i < 4; ++i) trainer.advance();
                   }),
                   "invalid_argument: [detect_anomaly] step 2:"));
  PretrainConfig good = small_pretraining();
  good.detect_anomaly = true;
  EXPECT_EQ(losses_of(good, 6), losses_of(small_pretraining(), 6));
}

TEST(Pretrain, ConfigurationsThroughJson) {
  PretrainConfig config = small_pretraining(1234567890123456789u);
  config.schedule = {3e-4, 7, 900, optim::Decay::cosine, 1e-5};
  config.muon = false;
  config.dtype = DType::bf16;
  const PretrainConfig read = PretrainConfig::from_json(config.to_json());
  EXPECT_EQ(read.to_json(), config.to_json());
  EXPECT_TRUE(differences(config, read).empty());
  PretrainConfig other = config;
  other.model.width = 32;
  other.stages[1].rows = 99;
  other.prior.seed = 3;
  EXPECT_EQ(differences(config, other),
            (std::vector<std::string>{"model.width 32 instead of 16",
                                      "prior_seed 3 instead of 1234567890123456789",
                                      "stages.1.1 99 instead of 20"}));
  EXPECT_TRUE(says(failure([] { PretrainConfig::from_json("{"); }), "format: [pretrain] not a"));
  EXPECT_EQ(PretrainConfig::from_json("{}").to_json(), PretrainConfig().to_json());
}

TEST(Pretrain, IncompatibleCheckpointsAreRefused) {
  Pretrainer trainer(small_pretraining(), Device::cpu(), alone());
  const auto refusal = [&](const auto& change) {
    PretrainConfig config = small_pretraining();
    change(config);
    const Checkpoint other = Pretrainer(config, Device::cpu(), alone()).checkpoint();
    return failure([&] { trainer.restore(other); });
  };
  EXPECT_TRUE(says(refusal([](auto& config) { config.model.hidden = 16; }),
                   "format: [pretrain] the checkpoint has another model or optimizer: "
                   "model.hidden 24 instead of 16"));
  EXPECT_TRUE(
      says(refusal([](auto& config) { config.muon = false; }), "format:", "muon true instead of"));
  EXPECT_TRUE(
      says(refusal([](auto& config) { config.dtype = DType::bf16; }), "format:", "dtype \"f32\""));
  EXPECT_EQ(refusal([](auto& config) { config.batch = 8; }), "");
  Checkpoint half = trainer.checkpoint();
  half.tensors.erase("optimizer");
  EXPECT_TRUE(says(failure([&] { trainer.restore(half); }), "format:", "has no \"optimizer\""));
}

}  // namespace
}  // namespace causeway::train_test
