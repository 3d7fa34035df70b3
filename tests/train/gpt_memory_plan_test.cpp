// The memory of GPT training: what is planned bounds what is used, and micro-batches and
// recomputation that are chosen for a budget do not change the result.
#include "causeway/train/gpt_memory_plan.h"

#include "causeway/core/error.h"
#include "causeway/train/gpt_trainer.h"
#include "causeway/train/memory_plan.h"
#include "tests/tensor/devices.h"
#include "tests/train/counting_tokens.h"

#include <fmt/format.h>

namespace causeway {
namespace {

using models::GptConfig;
using models::Recompute;
using train::GptMemoryPlan;
using train::GptTrainConfig;
using train::GptTrainer;
using train_test::counting;

constexpr std::size_t kGiB = std::size_t{1} << 30;

// Peak bytes of a forward and backward pass.
std::size_t measured_pass(const GptConfig& config, DType dtype, std::int64_t sequences,
                          std::int64_t tokens, Device device) {
  models::Gpt model(config);
  model.to(dtype);
  model.to(device);
  const Tensor ids = zeros({sequences, tokens}, DType::i64, device);
  Pool& pool = pool_of(device);
  std::size_t used = 0;
  for (int i = 0; i < 2; ++i) {  // the first pass also allocates what stays
    pool.reset_peak();
    const std::size_t before = pool.stats().current;
    autograd::backward(model.loss(ids, ids));
    used = pool.stats().peak - before;
    for (const Tensor& parameter : model.parameters()) {
      autograd::set_gradient(parameter, std::nullopt);
    }
  }
  return used;
}

void expect_step_bytes(DType dtype, Device device, double growth) {
  GptConfig grouped = GptConfig::preset("llama-tiny");
  grouped.vocabulary = 500;
  grouped.kv_heads = 2;
  GptConfig narrow = GptConfig::preset("gpt2");
  narrow.layers = 2;
  narrow.width = 128;
  narrow.heads = 2;
  narrow.vocabulary = 8000;
  for (const GptConfig& preset : {GptConfig::preset("bytes"), grouped, narrow}) {
    for (const Recompute recompute : {Recompute::none, Recompute::mlp, Recompute::layers}) {
      for (const std::int64_t sequences : {1, 4}) {
        if (dtype == DType::bf16 && device.is_cpu() && sequences > 1) continue;  // slow
        GptConfig config = preset;
        config.recompute = recompute;
        const std::int64_t tokens = 200;
        const auto used =
            static_cast<double>(measured_pass(config, dtype, sequences, tokens, device));
        const double planned =
            growth * static_cast<double>(config.step_bytes(sequences, tokens, dtype, device));
        SCOPED_TRACE(fmt::format("{} sequences, {}", sequences, config.to_json()));
        EXPECT_GE(planned / used, 1.0);
        EXPECT_LE(planned / used, 1.4 * growth);
      }
    }
  }
}

TEST(GptMemoryPlan, StepBytesBoundTheMeasuredPeak) {
  expect_step_bytes(DType::f32, Device::cpu(), 1);
  expect_step_bytes(DType::bf16, Device::cpu(), 1);
}

TEST(GpuGptMemoryPlan, StepBytesBoundTheMeasuredPeak) {
  CAUSEWAY_REQUIRE_GPU();
  expect_step_bytes(DType::bf16, Device::cuda(), train::MemoryPlan::kSideStreamGrowth);
}

GptTrainConfig small() {
  GptTrainConfig config;
  config.model = GptConfig::preset("bytes");
  config.model.layers = 3;
  config.model.length = 128;
  config.batch = 8;
  config.schedule.warmup = 2;
  return config;
}

// Peak bytes of a whole training step, weights and optimizer included, over what was live before.
void expect_plan_bounds_training(Device device, GptTrainConfig config) {
  dist::Group group;
  pool_of(device).release_cached();
  pool_of(device).reset_peak();
  GptTrainer trainer(config, counting(4000), counting(2000), device, group);
  for (int i = 0; i < 3; ++i) trainer.advance();
  trainer.progress();
  trainer.validation_loss(2);
  // Workspaces of cuBLASLt, one per stream, are not planned.
  const std::size_t workspaces = device.is_cuda() ? std::size_t{64} << 20 : 0;
  EXPECT_GE(trainer.plan().needed() + workspaces, pool_of(device).stats().peak);
}

TEST(GptMemoryPlan, NeededBytesBoundTraining) {
  GptTrainConfig config = small();
  expect_plan_bounds_training(Device::cpu(), config);
  config.muon = true;
  expect_plan_bounds_training(Device::cpu(), config);
  config.micro_batch = 2;
  config.dtype = DType::bf16;
  expect_plan_bounds_training(Device::cpu(), config);
}

TEST(GpuGptMemoryPlan, NeededBytesBoundTraining) {
  CAUSEWAY_REQUIRE_GPU();
  GptTrainConfig config = small();
  config.dtype = DType::bf16;
  config.batch = 64;
  config.model.length = 256;
  expect_plan_bounds_training(Device::cuda(), config);
  config.micro_batch = 16;
  expect_plan_bounds_training(Device::cuda(), config);
}

// Activations of a sequence dominate.
GptTrainConfig long_sequences() {
  GptTrainConfig config = small();
  config.model.layers = 4;
  config.model.length = 512;
  return config;
}

TEST(GptMemoryPlan, SmallerBudgetsNeedSmallerPasses) {
  const GptTrainConfig config = long_sequences();
  const auto plan = [&](std::size_t budget) {
    return GptMemoryPlan(config, Device::cpu(), 8, 1, 0, budget);
  };
  const GptMemoryPlan roomy = plan(100 * kGiB);
  EXPECT_EQ(roomy.micro_batch(), 8);
  EXPECT_EQ(roomy.recompute(), Recompute::none);
  EXPECT_NE(roomy.summary().find("of 100.0 GiB"), std::string::npos) << roomy.summary();
  EXPECT_EQ(roomy.summary().find("micro"), std::string::npos) << roomy.summary();
  std::int64_t before = 8;
  Recompute level = Recompute::none;
  std::size_t budget = roomy.needed();
  for (; budget > 0; budget -= budget / 50) {
    try {
      const GptMemoryPlan smaller = plan(budget);
      EXPECT_LE(smaller.needed(), budget);
      EXPECT_TRUE(smaller.recompute() > level || smaller.micro_batch() <= before);
      EXPECT_GE(smaller.recompute(), level);
      before = smaller.micro_batch();
      level = smaller.recompute();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
      EXPECT_NE(error.message().find("one sequence"), std::string::npos) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
      break;
    }
  }
  EXPECT_GT(budget, 0u);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(level, Recompute::layers);
  GptTrainConfig fixed = config;
  fixed.micro_batch = 4;
  fixed.model.recompute = Recompute::mlp;
  const GptMemoryPlan kept(fixed, Device::cpu(), 8, 1, 0, 100 * kGiB);
  EXPECT_EQ(kept.micro_batch(), 4);
  EXPECT_EQ(kept.recompute(), Recompute::mlp);
}

TEST(GptMemoryPlan, ALimitChangesResultsByRoundingOnly) {
  dist::Group group;
  const GptTrainConfig config = long_sequences();
  const auto losses = [&](std::size_t memory, std::int64_t& micro_batch, Recompute& level) {
    pool_of(Device::cpu()).release_cached();
    GptTrainer trainer(config, counting(9000), {}, Device::cpu(), group, memory);
    micro_batch = trainer.plan().micro_batch();
    level = trainer.plan().recompute();
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      trainer.advance();
      all.push_back(trainer.progress().loss);
    }
    return all;
  };
  std::int64_t micro_batch = 0;
  Recompute level = Recompute::none;
  const std::vector<double> whole = losses(0, micro_batch, level);
  EXPECT_EQ(micro_batch, 8);
  const std::size_t live = pool_of(Device::cpu()).stats().current;
  const GptMemoryPlan roomy(config, Device::cpu(), 8, 1, live, 100 * kGiB);
  const std::vector<double> half = losses(roomy.resident() + roomy.step() / 2, micro_batch, level);
  EXPECT_LT(micro_batch, 8);
  GptTrainConfig one = config;
  one.micro_batch = 1;
  one.model.recompute = Recompute::layers;
  const GptMemoryPlan least(one, Device::cpu(), 8, 1, live, 100 * kGiB);
  // The pool takes pages of 2 MiB.
  const std::size_t pages = std::size_t{4} << 20;
  const std::vector<double> tight = losses(least.needed() * 100 / 92 + pages, micro_batch, level);
  EXPECT_EQ(micro_batch, 1);
  EXPECT_EQ(level, Recompute::layers);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(half[i], whole[i], 2e-5) << i;
    EXPECT_NEAR(tight[i], whole[i], 2e-5) << i;
  }
  EXPECT_THROW(losses(least.needed() / 2, micro_batch, level), Error);
  EXPECT_EQ(pool_of(Device::cpu()).stats().limit, 0u);  // as before
}

}  // namespace
}  // namespace causeway
