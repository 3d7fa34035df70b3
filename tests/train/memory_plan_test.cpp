// The memory of training: what is planned bounds what is used, micro-batches do not change the
// result, and every block has a name.
#include "causeway/train/memory_plan.h"

#include "causeway/core/error.h"
#include "tests/tensor/devices.h"
#include "tests/train/small_pretraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::train_test {
namespace {

using train::MemoryPlan;
using train::PretrainConfig;
using train::Pretrainer;

constexpr std::size_t kGiB = std::size_t{1} << 30;

// Other programs need memory too.
TEST(MemoryPlan, DefaultsNeedAtMost4GiBOnACpu) {
  if (train::memory_budget(Device::cpu()) <= 4 * kGiB) GTEST_SKIP() << "less is free";
  dist::Group group;
  PretrainConfig config = train::resolve_settings("{}", "{}", Device::cpu()).config;
  const Pretrainer trainer(config, Device::cpu(), group);
  EXPECT_LE(trainer.plan().needed(), 4 * kGiB);
  // More is taken where that is not enough.
  config.prior.rows = {16384, 16384};
  const Pretrainer large(config, Device::cpu(), group);
  EXPECT_GT(large.plan().needed(), 4 * kGiB);
  EXPECT_GT(large.plan().budget(), 4 * kGiB);
}

// Large enough that activations dominate.
PretrainConfig wide_pretraining() {
  PretrainConfig config = small_pretraining();
  config.model.width = 64;
  config.model.heads = 4;
  config.model.hidden = 128;
  config.model.layers = 3;
  config.prior.rows = {64, 64};
  config.prior.features = {20, 20};
  config.stages.clear();
  config.batch = 8;
  return config;
}

// Peak bytes of a forward and backward pass on tables of zeros.
std::size_t measured_step(const models::TabularConfig& config, DType dtype, std::int64_t tables,
                          std::int64_t rows, std::int64_t features, bool recomputes,
                          Device device) {
  models::TabularTransformer model(config);
  model.recompute_layers(recomputes);
  model.to(dtype);
  model.to(device);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < tables; ++i) sizes.insert(sizes.end(), {rows, features, rows / 2});
  const models::Tables inputs{zeros({tables, rows, features}, DType::f32, device),
                              zeros({tables, rows}, DType::f32, device),
                              Tensor::from<std::int64_t>(sizes, {tables, 3}, device)};
  Pool& pool = pool_of(device);
  std::size_t used = 0;
  for (int i = 0; i < 2; ++i) {  // the first pass also allocates what stays
    pool.reset_peak();
    const std::size_t before = pool.stats().current;
    autograd::backward(model.loss(inputs));
    used = pool.stats().peak - before;
    for (const Tensor& parameter : model.parameters()) {
      autograd::set_gradient(parameter, std::nullopt);
    }
  }
  return used;
}

// `growth`: what a step on this device needs besides.
void expect_step_bytes(const std::vector<models::TabularConfig>& configs, DType dtype,
                       Device device, double growth) {
  struct Size {
    std::int64_t tables, rows, features;
  };
  for (const models::TabularConfig& config : configs) {
    for (const Size& size : {Size{1, 40, 30}, Size{2, 60, 7}}) {
      for (const bool recomputes : {false, true}) {
        const std::size_t used =
            measured_step(config, dtype, size.tables, size.rows, size.features, recomputes, device);
        const std::size_t planned =
            config.step_bytes(size.tables, size.rows, size.features, dtype, recomputes);
        const double ratio = growth * static_cast<double>(planned) / static_cast<double>(used);
        SCOPED_TRACE(fmt::format("{} {} x {} recomputes {}", config.to_json(), size.rows,
                                 size.features, recomputes));
        EXPECT_GE(ratio, 1.0);
        EXPECT_LE(ratio, 1.4 * growth);
      }
    }
  }
}

models::TabularConfig with_retrieval() {
  models::TabularConfig config;
  config.decoder = models::TabularDecoder::retrieval;
  return config;
}

models::TabularConfig with_options() {
  models::TabularConfig config;
  config.labels = models::LabelPlacement::cells;
  config.cell_encoding = models::CellEncoding::radial;
  config.scaled_softmax = true;
  config.layer_order = models::LayerOrder::rows_mlp_columns;
  return config;
}

TEST(MemoryPlan, StepBytesBoundTheMeasuredPeak) {
  using models::TabularConfig;
  expect_step_bytes({TabularConfig::preset("default"), TabularConfig::preset("nanotabpfn"),
                     with_options(), with_retrieval()},
                    DType::f32, Device::cpu(), 1);
}

TEST(MemoryPlan, StepBytesBoundTheMeasuredPeakOnAGpu) {
  CAUSEWAY_REQUIRE_GPU();
  using models::TabularConfig;
  expect_step_bytes({TabularConfig::preset("default"), TabularConfig::preset("nanotabpfn"),
                     TabularConfig::preset("speedrun"), with_options(), with_retrieval()},
                    DType::bf16, Device::cuda(0), MemoryPlan::kSideStreamGrowth);
}

TEST(MemoryPlan, SmallerBudgetsNeedMoreMicroBatches) {
  const PretrainConfig config = wide_pretraining();
  const auto parts = [&](std::size_t budget) {
    return MemoryPlan(config, Device::cpu(), 8, 100'000, 0, budget).largest_cut().n_parts;
  };
  const MemoryPlan roomy(config, Device::cpu(), 8, 100'000, 0, 100 * kGiB);
  EXPECT_EQ(roomy.largest_cut().n_parts, 1);
  EXPECT_NE(roomy.summary().find("of 100.0 GiB"), std::string::npos) << roomy.summary();
  const std::size_t half = roomy.resident() + roomy.largest_step() / 2;
  EXPECT_GE(parts(half), 2);
  EXPECT_GT(parts(roomy.resident() + roomy.largest_step() / 4), parts(half));
  EXPECT_EQ(parts(1), 8);  // one dataset at a time
  const MemoryPlan halved(config, Device::cpu(), 8, 100'000, 0, half);
  EXPECT_LE(halved.needed(), half);
  EXPECT_EQ(halved.cut(64, 2).n_parts, 1);  // narrow tables fit whole
}

TEST(MemoryPlan, CutsIntoAsFewMicroBatchesAsFit) {
  const PretrainConfig config = wide_pretraining();
  const auto bytes = [&](std::int64_t tables) {
    return config.model.step_bytes(tables, 64, 20, config.dtype, false);
  };
  constexpr std::int64_t kTables = 24;
  for (const std::int64_t most : {1, 2, 3, 4, 5, 6, 8, 11, 12, 23, 24}) {
    const MemoryPlan any(config, Device::cpu(), kTables, 100'000, 0, kGiB);
    // So much that micro-batches of `most` datasets fit, but of one more do not.
    const std::size_t planned = any.resident() + (bytes(most) + bytes(most + 1)) / 2;
    auto budget = static_cast<std::size_t>(static_cast<double>(planned) / 0.92);
    while (train::planned_bytes(budget) < any.resident() + bytes(most)) ++budget;
    ASSERT_LT(train::planned_bytes(budget), any.resident() + bytes(most + 1));
    const MemoryPlan plan(config, Device::cpu(), kTables, 100'000, 0, budget);
    EXPECT_EQ(plan.largest_cut(), (MemoryPlan::Cut{(kTables + most - 1) / most, false})) << most;
  }
}

TEST(MemoryPlan, CutBatchesGiveTheSameResult) {
  const PretrainConfig config = wide_pretraining();
  const auto train = [&](std::size_t memory, MemoryPlan::Cut& cut) {
    Pretrainer trainer(config, Device::cpu(), alone(), memory);
    cut = trainer.plan().largest_cut();
    std::vector<double> losses;
    for (int i = 0; i < 6; ++i) {
      trainer.advance();
      losses.push_back(trainer.progress().loss);
    }
    return losses;
  };
  MemoryPlan::Cut cut;
  const std::vector<double> whole = train(0, cut);
  EXPECT_EQ(cut, (MemoryPlan::Cut{1, false}));
  std::size_t resident = 0;
  std::size_t step = 0;
  {
    Pretrainer trainer(config, Device::cpu(), alone());
    resident = trainer.plan().resident();
    step = trainer.plan().largest_step();
  }
  const auto expect_same = [&](const std::vector<double>& losses) {
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(losses[i], whole[i], 2e-5) << i;
  };
  pool_of(Device::cpu()).release_cached();
  expect_same(train(resident + step / 2, cut));
  EXPECT_GT(cut.n_parts, 1);
  EXPECT_FALSE(cut.recomputes);
  pool_of(Device::cpu()).release_cached();
  expect_same(train((resident + step / 9) * 100 / 92, cut));  // less than one dataset
  EXPECT_TRUE(cut.recomputes);
  EXPECT_EQ(pool_of(Device::cpu()).stats().limit, 0u);  // as before
}

TEST(MemoryPlan, AStepThatRunsOutOfMemoryIsRepeatedInSmallerParts) {
  const PretrainConfig config = wide_pretraining();
  const auto train = [&](int fails_at) {
    Pretrainer trainer(config, Device::cpu(), alone());
    std::vector<double> losses;
    for (int i = 0; i < 5; ++i) {
      if (i == fails_at) pool_of(Device::cpu()).fail_nth(100);
      trainer.advance();
      losses.push_back(trainer.progress().loss);
    }
    EXPECT_EQ(trainer.plan().largest_cut().n_parts > 1, fails_at >= 0);
    return losses;
  };
  const std::vector<double> expected = train(-1);
  const std::vector<double> repeated = train(2);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(repeated[i], expected[i], 2e-5);
}

TEST(MemoryPlan, TheLimitHolds) {
  const PretrainConfig config = wide_pretraining();
  Pool& pool = pool_of(Device::cpu());
  std::size_t budget = 0;
  {
    Pretrainer trainer(config, Device::cpu(), alone());
    budget = trainer.plan().resident() + trainer.plan().largest_step() / 3;
  }
  pool.release_cached();
  Pretrainer trainer(config, Device::cpu(), alone(), budget);
  pool.reset_peak();
  for (int i = 0; i < 5; ++i) trainer.advance();
  EXPECT_TRUE(std::isfinite(trainer.progress().loss));
  EXPECT_LE(pool.stats().current + pool.stats().cached, budget);
}

TEST(MemoryPlan, EveryBlockOfARunHasAName) {
  Pool& pool = pool_of(Device::cpu());
  pool.release_cached();
  const std::size_t before = pool.stats().by_name["unnamed"].current;
  pool.reset_peak();
  Pretrainer trainer(wide_pretraining(), Device::cpu(), alone());
  for (int i = 0; i < 7; ++i) trainer.advance();
  trainer.progress();
  const MemoryStats stats = pool.stats();
  const std::size_t unnamed = stats.by_name.at("unnamed").peak - before;
  EXPECT_LT(static_cast<double>(unnamed), 0.01 * static_cast<double>(stats.peak));
  for (const char* name :
       {"weights", "gradients", "activations", "optimizer", "tables", "prior", "average"}) {
    ASSERT_TRUE(stats.by_name.contains(name)) << name;
    EXPECT_GT(stats.by_name.at(name).peak, 0u) << name;
  }
}

// The default run on a device of this size, for as many steps as there are batches in a window.
void train_with_limit(std::size_t memory) {
  const Device device = Device::cuda(0);
  PretrainConfig config = PretrainConfig::suited_to(device);
  config.match_target();
  Pool& pool = pool_of(device);
  pool.release_cached();
  Pretrainer trainer(config, device, alone(), memory);
  for (int i = 0; i < 2 * config.window_steps; ++i) trainer.advance();
  EXPECT_TRUE(std::isfinite(trainer.progress().loss));
  EXPECT_LE(pool.stats().current + pool.stats().cached, memory);
}

TEST(MemoryPlan, TheDefaultRunFitsIn139GiBOnAGpu) {
  CAUSEWAY_REQUIRE_GPU();
  train_with_limit(std::min(139 * kGiB, describe(Device::cuda(0)).memory_free));
}

TEST(MemoryPlan, TheDefaultRunFitsIn24GiBOnAGpu) {
  CAUSEWAY_REQUIRE_GPU();
  train_with_limit(24 * kGiB);
}

TEST(MemoryPlan, TheDefaultRunFitsIn8GiBOnAGpu) {
  CAUSEWAY_REQUIRE_GPU();
  train_with_limit(8 * kGiB);
}

}  // namespace
}  // namespace causeway::train_test
