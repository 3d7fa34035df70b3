// Sharded optimizer state (ZeRO-1) with ranks that are threads.
#include "causeway/train/sharded_optimizer.h"

#include "causeway/core/error.h"
#include "causeway/train/gpt_trainer.h"
#include "tests/dist/small_model.h"
#include "tests/dist/thread_ranks.h"
#include "tests/tensor/devices.h"

#include <cmath>
#include <mutex>

namespace causeway::train {
namespace {

using dist::run_ranks;

optim::GroupOptions adamw() {
  optim::GroupOptions options;
  options.weight_decay = 0.1;
  return options;
}

// AdamW for vectors, Muon for matrices.
std::vector<optim::ParameterGroup> mixed_groups(const std::vector<Tensor>& parameters) {
  optim::ParameterGroup vectors{{}, adamw()};
  std::vector<Tensor> matrices;
  for (const Tensor& parameter : parameters) {
    (parameter.n_dims() == 2 ? matrices : vectors.parameters).push_back(parameter);
  }
  std::vector<optim::ParameterGroup> groups{vectors};
  for (auto& group : optim::muon_groups(matrices, 0.1, 0.1)) groups.push_back(std::move(group));
  return groups;
}

// The same averaged gradients, with the whole state on every rank: bit for bit the same weights.
TEST(ShardedOptimizer, EqualsTheReplicatedOptimizer) {
  for (const bool muon : {false, true}) {
    run_ranks(3, [&](dist::Group& group) {
      const auto groups_of = [&](const std::vector<Tensor>& parameters) {
        return muon ? mixed_groups(parameters)
                    : std::vector<optim::ParameterGroup>{{parameters, adamw()}};
      };
      const std::int64_t first = group.rank() * SmallModel::kRows / 3;
      const SmallModel replicated;
      GradientSync sync(group, replicated.parameters);
      optim::Optimizer optimizer;
      for (const auto& [members, how] : groups_of(replicated.parameters)) {
        optimizer.add_group(members, how);
      }
      const SmallModel model;
      ShardedOptimizer sharded(group, {}, model.parameters, groups_of(model.parameters));
      for (int step = 0; step < 4; ++step) {
        sync.backward(replicated.loss(first, first + SmallModel::kRows / 3));
        optimizer.step();
        optimizer.zero_grad();
        sharded.backward(model.loss(first, first + SmallModel::kRows / 3));
        sharded.step();
      }
      for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        expect_same_bytes(model.parameters[i], replicated.parameters[i], std::to_string(i));
      }
    });
  }
}

TEST(ShardedOptimizer, ClipsTheNormOverAllRanks) {
  optim::OptimizerOptions clipped;
  clipped.max_norm = 1e-3;
  dist::Group one;
  const SmallModel whole;
  ShardedOptimizer alone(one, clipped, whole.parameters, {{whole.parameters, adamw()}});
  alone.backward(whole.loss(0, SmallModel::kRows));
  alone.step();
  run_ranks(3, [&](dist::Group& group) {
    const SmallModel model;
    ShardedOptimizer sharded(group, clipped, model.parameters, {{model.parameters, adamw()}});
    const std::int64_t first = group.rank() * SmallModel::kRows / 3;
    sharded.backward(model.loss(first, first + SmallModel::kRows / 3));
    sharded.step();
    EXPECT_NEAR(sharded.norm().item() / alone.norm().item(), 1, 1e-5);
  });
}

TEST(ShardedOptimizer, TooSmallAModel) {
  const auto messages = dist::errors_of_ranks(2, [](dist::Group& group) {
    Tensor parameter = ones({10});
    autograd::set_requires_grad(parameter, true);
    const ShardedOptimizer sharded(group, {}, {parameter}, {{{parameter}, adamw()}});
  });
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("too small to be divided among 2 ranks"), std::string::npos) << message;
  }
}

GptTrainConfig small_gpt(bool muon, DType dtype) {
  GptTrainConfig config;
  config.model = models::GptConfig::preset("bytes");
  config.model.length = 16;
  config.model.width = 32;
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.bias = false;  // the gradient of key biases is rounding noise, which AdamW scales up
  config.batch = 12;
  config.muon = muon;
  config.dtype = dtype;
  config.schedule.warmup = 2;
  return config;
}

data::TokenData some_text() {
  std::vector<data::TokenId> ids;
  std::uint32_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;
    ids.push_back(static_cast<data::TokenId>(state >> 27));
  }
  return data::TokenData::from(ids);
}

using Weights = std::map<std::string, std::vector<double>>;

Weights weights_of(GptTrainer& trainer) {
  Weights all;
  for (const auto& [name, tensor] : trainer.model().state()) {
    all[name] = tensor.to(DType::f64).to_vector<double>();
  }
  return all;
}

// f32: every weight agrees to a thousandth of the learning rate. bf16: rounding of the gradients
// may flip the sign of small ones, which AdamW scales to whole steps, and weights near 1 have a
// distance of four learning rates.
void expect_near(const Weights& got, const Weights& want, const GptTrainConfig& config) {
  const double step = config.schedule.peak;
  for (const auto& [name, values] : want) {
    double largest = 0;
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double gap = std::fabs(values[i] - got.at(name)[i]);
      largest = std::max(largest, gap);
      squares += gap * gap;
    }
    const double typical = std::sqrt(squares / static_cast<double>(values.size()));
    EXPECT_LE(typical, (config.dtype == DType::f32 ? 1e-4 : 1) * step) << name;
    EXPECT_LE(largest, (config.dtype == DType::f32 ? 1e-3 : 5) * step) << name;
  }
}

struct Trained {
  Weights weights;
  std::vector<double> losses;
  Checkpoint checkpoint;
  std::vector<std::size_t> state_bytes;  // by rank
};

// Trains `steps` steps on `n_ranks` ranks, from a checkpoint if there is one.
Trained train_gpt(const GptTrainConfig& config, int n_ranks, int steps,
                  const Checkpoint* from = nullptr) {
  Trained run;
  std::mutex mutex;
  const auto body = [&](dist::Group& group) {
    GptTrainer trainer(config, some_text(), {}, Device::cpu(), group);
    if (from != nullptr) trainer.restore(*from);
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
      trainer.advance();
      losses.push_back(trainer.progress().loss);
    }
    Checkpoint checkpoint = trainer.checkpoint();
    const auto bytes = group.all_gather(static_cast<std::int64_t>(trainer.state_bytes()));
    const Weights weights = weights_of(trainer);
    const std::lock_guard lock(mutex);
    if (run.weights.empty()) run.weights = weights;
    EXPECT_EQ(weights, run.weights) << "ranks differ";
    if (group.rank() != 0) return;
    run.losses = losses;
    run.checkpoint = std::move(checkpoint);
    run.state_bytes.assign(bytes.begin(), bytes.end());
  };
  if (n_ranks == 1) {
    dist::Group one;
    body(one);
  } else {
    run_ranks(n_ranks, body);
  }
  return run;
}

TEST(ShardedGpt, RanksEqualOneRankWithTheSameBatch) {
  for (const bool muon : {false, true}) {
    for (const DType dtype : cases<DType>({DType::f32, DType::bf16, DType::f16}, {DType::bf16})) {
      GptTrainConfig config = small_gpt(muon, dtype);
      const Trained want = train_gpt(config, 1, 6);
      for (const int n_ranks : {2, 3}) {
        for (const std::int64_t micro_batch : {0, 2}) {
          config.micro_batch = micro_batch;
          const Trained got = train_gpt(config, n_ranks, 6);
          for (std::size_t i = 0; i < want.losses.size(); ++i) {
            EXPECT_NEAR(got.losses[i], want.losses[i], dtype == DType::f32 ? 2e-6 : 2e-2);
          }
          expect_near(got.weights, want.weights, config);
        }
      }
    }
  }
}

TEST(ShardedGpt, RecomputedActivationsGiveTheSameBits) {
  GptTrainConfig config = small_gpt(false, DType::f32);
  const Trained want = train_gpt(config, 2, 3);
  for (const models::Recompute level : {models::Recompute::mlp, models::Recompute::layers}) {
    config.model.recompute = level;
    EXPECT_EQ(train_gpt(config, 2, 3).weights, want.weights);
  }
}

TEST(ShardedGpt, EachRankHasItsShareOfTheOptimizerState) {
  for (const bool muon : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const GptTrainConfig config = small_gpt(muon, dtype);
      const auto total = static_cast<double>(train_gpt(config, 1, 1).state_bytes[0]);
      for (const int n_ranks : {2, 3}) {
        const Trained run = train_gpt(config, n_ranks, 1);
        double sum = 0;
        for (const std::size_t bytes : run.state_bytes) {
          sum += static_cast<double>(bytes);
          EXPECT_LE(static_cast<double>(bytes) * n_ranks, 1.1 * total);
        }
        EXPECT_EQ(sum, total);
      }
    }
  }
}

TEST(ShardedGpt, ResumesWithAnotherNumberOfRanks) {
  for (const bool muon : {false, true}) {
    for (const DType dtype : cases<DType>({DType::f32, DType::bf16}, {DType::bf16})) {
      const GptTrainConfig config = small_gpt(muon, dtype);
      const Trained two = train_gpt(config, 2, 3);
      const Trained again = train_gpt(config, 2, 3, &two.checkpoint);
      EXPECT_EQ(train_gpt(config, 2, 6).weights, again.weights);  // bit for bit
      const Trained one = train_gpt(config, 1, 3, &two.checkpoint);
      const Trained three = train_gpt(config, 3, 3, &one.checkpoint);
      EXPECT_EQ(three.checkpoint.step, 9);
      const Trained want = train_gpt(config, 1, 9);
      expect_near(three.weights, want.weights, config);
      EXPECT_EQ(three.checkpoint.tensors.at("optimizer").size(),
                want.checkpoint.tensors.at("optimizer").size());
    }
  }
}

TEST(ShardedGpt, ABatchThatCannotBeDivided) {
  GptTrainConfig config = small_gpt(false, DType::f32);
  config.batch = 10;
  const auto messages = dist::errors_of_ranks(
      3, [&](dist::Group& group) { GptTrainer(config, some_text(), {}, Device::cpu(), group); });
  for (const std::string& message : messages) {
    EXPECT_EQ(message,
              "[gpt train] a batch of 10 cannot be divided among 3 ranks; use a multiple of 3");
  }
}

TEST(ShardedGpt, AStateOfOtherParametersIsRefused) {
  const Checkpoint plain = train_gpt(small_gpt(false, DType::f32), 1, 1).checkpoint;
  Checkpoint damaged = plain;
  damaged.tensors.at("optimizer").erase("1.0.mean");
  Checkpoint longer = plain;
  longer.tensors.at("optimizer")["9.0.mean"] = zeros({2});
  Checkpoint other = plain;
  other.tensors.at("optimizer")["1.0.mean"] = zeros({2});
  for (const Checkpoint& checkpoint : {damaged, longer, other}) {
    const auto messages = dist::errors_of_ranks(2, [&](dist::Group& group) {
      GptTrainer trainer(small_gpt(false, DType::f32), some_text(), {}, Device::cpu(), group);
      trainer.restore(checkpoint);
    });
    for (const std::string& message : messages) EXPECT_NE(message, "");
  }
}

}  // namespace
}  // namespace causeway::train
