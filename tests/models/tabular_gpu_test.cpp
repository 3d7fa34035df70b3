// The tabular transformer on a GPU against the CPU: results, gradients, cached contexts.
#include "causeway/models/predictor.h"
#include "causeway/models/tabular_file.h"

#include "causeway/autograd/step_graph.h"
#include "causeway/autograd/views.h"
#include "causeway/tensor/operand.h"
#include "tests/models/tables.h"

#include <map>

#include <fmt/format.h>

namespace causeway {
namespace {

using models::Tables;
using models::TabularConfig;
using models::TabularTransformer;

Tables on(Device device, const Tables& tables) {
  return {tables.x.to(device), tables.y.to(device), tables.sizes.to(device)};
}

const std::vector<TableSize> kSizes = {{37, 9, 20}, {64, 3, 33}, {12, 1, 5}, {50, 20, 49}};

// Under slow sanitizers two small ones.
std::vector<TableSize> tested_sizes() { return cases(kSizes, {{37, 5, 20}, {12, 1, 5}}); }

// Under slow sanitizers one of five.
std::vector<TabularConfig> tested_ones() {
  std::vector<TabularConfig> tested;
  const std::vector<TabularConfig> all = small_ones();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!few_cases() || i % 5 == 2) tested.push_back(all[i]);
  }
  return tested;
}

// Both models have the same weights.
struct Pair {
  TabularTransformer cpu;
  TabularTransformer cuda;

  explicit Pair(const TabularConfig& config, DType dtype = DType::f32)
      : cpu(config, {dtype, Device::cpu(), nullptr}),
        cuda(config, {dtype, Device::cuda(), nullptr}) {
    draw_scales(cpu);
    cuda.load_state(cpu.state());
  }
};

// Within a fraction of the tensor's norm.
void expect_near(const Tensor& got, const Tensor& want, double fraction, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const auto a = got.to(Device::cpu()).to(DType::f64).to_vector<double>();
  const auto b = want.to(DType::f64).to_vector<double>();
  double size = 0;
  for (double value : b) size = std::max(size, std::fabs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(a[i] - b[i]), fraction * size + 1e-7) << what << ", element " << i;
  }
}

TEST(GpuTabular, Inputs) {
  CAUSEWAY_REQUIRE_GPU();
  for (const TabularConfig& config : small_ones()) {
    Tables tables = draw_tables(kSizes, classes_of(config), 80);
    tables.x.select(0, 1).slice(0, 3, 9).slice(1, 1, 2).copy_from(full({}, kNaN));
    tables.x.select(0, 2).copy_from(full({}, 7.3f));
    std::vector<std::vector<Tensor>> found;
    for (Device device : {Device::cpu(), Device::cuda()}) {
      const Tables here = on(device, tables);
      const StreamView stream = current_stream(device);
      const kernels::TableInputs inputs = config.inputs();
      const models::TableStatistics statistics = measure_tables(inputs, here);
      std::vector<Tensor> all = {statistics.moments};
      for (const bool with_thinking : {false, true}) {
        all.push_back(encoder_inputs(inputs, here, statistics, with_thinking, DType::f32));
      }
      const Tensor targets = Tensor::empty({4, 64}, DType::i64, device);
      const Tensor borders =
          Tensor::from<float>(std::vector<float>{-1, -0.2f, 0, 0.7f}, {4}, device);
      kernels::table_targets(stream, operand(here.y, stream), operand(here.sizes, stream),
                             operand(statistics.moments, stream),
                             config.is_regression() ? operand(borders, stream) : kernels::Operand(),
                             operand(targets, stream));
      all.push_back(targets);
      found.push_back(all);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      expect_close(found[1][i], found[0][i], fmt::format("{}, {}", i, name_of(config)));
    }
    expect_same_bytes(found[1][3], found[0][3], "targets");
  }
}

TEST(GpuTabular, LogitsAndGradients) {
  CAUSEWAY_REQUIRE_GPU();
  std::vector<TabularConfig> configs = tested_ones();
  for (const char* name : {"default", "nanotabpfn", "speedrun"}) {
    if (!few_cases()) configs.push_back(TabularConfig::preset(name));
  }
  for (const TabularConfig& config : configs) {
    Pair model(config);
    const Tables tables = draw_tables(tested_sizes(), classes_of(config), 81);
    const Tables there = on(Device::cuda(), tables);
    expect_near(autograd::detach(model.cuda.logits(there)),
                autograd::detach(model.cpu.logits(tables)), 1e-4, name_of(config));
    autograd::backward(model.cpu.loss(tables));
    autograd::backward(model.cuda.loss(there));
    const auto want = model.cpu.named_parameters();
    const auto got = model.cuda.named_parameters();
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_near(*autograd::gradient_of(got[i].second), *autograd::gradient_of(want[i].second),
                  1e-3, want[i].first);
    }
  }
}

// Loss and gradients of a step captured once and replayed for other tables.
void expect_replayed_equals_eager(DType dtype) {
  TabularConfig config = small("default");
  config.labels = models::LabelPlacement::cells;
  config.cell_encoding = models::CellEncoding::radial;
  config.scaled_softmax = true;
  config.decoder = models::TabularDecoder::retrieval;
  Pair model(config, dtype);
  const auto body = [&](const std::vector<Tensor>& in) {
    const Tensor loss = model.cuda.loss({in[0], in[1], in[2]});
    autograd::backward(loss);
    std::vector<Tensor> results = {autograd::detach(loss)};
    for (const Tensor& parameter : model.cuda.parameters()) {
      results.push_back(*autograd::gradient_of(parameter));
      autograd::set_gradient(parameter, std::nullopt);
    }
    return results;
  };
  autograd::StepGraph graph(Device::cuda(), body);
  for (std::uint64_t seed = 90; seed < (few_cases() ? 92 : 94); ++seed) {
    const Tables there = on(Device::cuda(), draw_tables(tested_sizes(), 3, seed));
    const std::vector<Tensor> want = body({there.x, there.y, there.sizes});
    const std::vector<Tensor> got = graph({there.x, there.y, there.sizes});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_same_bytes(got[i], want[i], fmt::format("result {} of seed {}", i, seed));
    }
  }
}

TEST(GpuTabular, ReplayedStepEqualsEagerStep) {
  CAUSEWAY_REQUIRE_GPU();
  expect_replayed_equals_eager(DType::f32);
}

TEST(GpuTabular, ReplayedStepEqualsEagerStepInBf16) {
  CAUSEWAY_REQUIRE_GPU();
  expect_replayed_equals_eager(DType::bf16);
}

TEST(GpuTabular, Bf16) {
  CAUSEWAY_REQUIRE_GPU();
  std::vector<TabularConfig> configs;
  for (const char* name : {"default", "nanotabpfn", "speedrun"}) {
    if (!few_cases()) configs.push_back(TabularConfig::preset(name));
  }
  configs.emplace_back();
  configs.back().labels = models::LabelPlacement::cells;
  configs.back().cell_encoding = models::CellEncoding::radial;
  configs.back().scaled_softmax = true;
  configs.emplace_back();
  configs.back().decoder = models::TabularDecoder::retrieval;
  for (const TabularConfig& config : configs) {
    Pair model(config, DType::bf16);
    const Tables tables = draw_tables(tested_sizes(), 2, 82);
    const Tensor want = autograd::detach(model.cpu.logits(tables));
    expect_near(autograd::detach(model.cuda.logits(on(Device::cuda(), tables))), want, 0.1,
                name_of(config));
    autograd::backward(model.cuda.loss(on(Device::cuda(), tables)));
  }
}

TEST(GpuTabular, PredictLogitsEqualsLogits) {
  CAUSEWAY_REQUIRE_GPU();
  for (const TabularConfig& config : tested_ones()) {
    Pair model(config);
    const Tables tables = draw_tables({{90, 7, 50}, {90, 4, 50}}, classes_of(config), 83);
    const Tables there = on(Device::cuda(), tables);
    const Tensor want = autograd::detach(model.cpu.logits(tables)).slice(1, 50).contiguous();
    const auto context = model.cuda.encode_context(there);
    expect_near(model.cuda.predict_logits(context, there.x.slice(1, 50).contiguous()), want, 1e-4,
                name_of(config));
    expect_near(model.cuda.predict_logits(context, there.x.slice(1, 83).contiguous()),
                want.slice(1, 33).contiguous(), 1e-4, "a part");
  }
}

TEST(GpuTabular, Predictions) {
  CAUSEWAY_REQUIRE_GPU();
  for (const TabularConfig& config : {small("default"), small("default", true)}) {
    Generator generator(5);
    const Tensor x = generator.normal({70, 5}, 0, 1, DType::f64);
    x.select(1, 4).copy_from(x.select(1, 3));  // four components of five columns: two batches
    const Tensor y = config.is_regression() ? generator.normal({70}, 0, 1, DType::f64)
                                            : generator.integers({70}, 0, 4).to(DType::f64);
    std::vector<Tensor> found;
    std::map<std::string, Tensor> state;
    for (Device device : {Device::cpu(), Device::cuda()}) {
      const auto model =
          std::make_shared<TabularTransformer>(config, models::inference_placement(device));
      if (state.empty()) state = model->state();
      model->load_state(state);
      models::TabularPredictor predictor(model, {});
      predictor.fit(x.slice(0, 0, 50), y.slice(0, 0, 50), config.classes);
      found.push_back(predictor.predict_proba(x.slice(0, 50)));
    }
    expect_near(found[1], found[0], 0.05, name_of(config));
  }
}

}  // namespace
}  // namespace causeway
