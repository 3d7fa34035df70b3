// Parts of a run that are code: custom families among those of a prior, a source of tables, a
// custom model.
#include "causeway/train/run_parts.h"

#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/reduce.h"
#include "causeway/nn/layers.h"
#include "tests/tensor/devices.h"
#include "tests/train/small_pretraining.h"

#include <set>

namespace causeway::train_test {
namespace {

using data_test::expect_same;
using models::Tables;
using train::CustomFamily;
using train::CustomRequest;
using train::PretrainConfig;
using train::Pretrainer;
using train::RunParts;
using train::TableStream;
using train::TableStreamOptions;

// Every value of x is 1000 plus the dataset's index; y counts classes.
CustomFamily marked(double share) {
  return {"marked", share, [](const CustomRequest& request) {
            std::vector<float> x;
            std::vector<float> y;
            for (std::size_t k = 0; k < request.indices.size(); ++k) {
              for (int row = 0; row < request.n_rows; ++row) {
                y.push_back(static_cast<float>(row % request.n_classes[k]));
                x.insert(x.end(), static_cast<std::size_t>(request.n_features),
                         static_cast<float>(1000 + request.indices[k]));
              }
            }
            const auto count = static_cast<std::int64_t>(request.indices.size());
            return std::pair(
                Tensor::from<float>(x, {count, request.n_rows, request.n_features}, request.device),
                Tensor::from<float>(y, {count, request.n_rows}, request.device));
          }};
}

TableStreamOptions small_stream(double share) {
  TableStreamOptions options;
  options.prior = small_prior();
  options.prior.rows = {12, 20};
  options.batch = 8;
  options.window_steps = 4;
  if (share > 0) options.families = {marked(share)};
  return options;
}

// Whether table k is of the family; checks all of its values.
bool is_marked(const Tables& tables, std::int64_t k) {
  const auto sizes = tables.sizes.select(0, k).to_vector<std::int64_t>();
  const Tensor x = tables.x.select(0, k);
  const double mark = x.select(0, 0).select(0, 0).item();
  if (mark < 1000) return false;
  Tensor expected = zeros(x.shape(), DType::f32, x.device());
  const Tensor used = expected.slice(0, 0, sizes[0]).slice(1, 0, sizes[1]);
  used.copy_from(full(used.shape(), mark, DType::f32, x.device()));
  expect_same(x.to(Device::cpu()), expected.to(Device::cpu()));
  return true;
}

TEST(CustomFamily, TablesAreOfTheFamilyOrEqualThoseOfThePrior) {
  TableStream plain(small_stream(0), Device::cpu());
  TableStream mixed(small_stream(0.4), Device::cpu());
  int n_marked = 0;
  constexpr int kSteps = 40;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Tables expected = plain.tables(step);
    const Tables found = mixed.tables(step);
    ASSERT_EQ(found.x.shape(), expected.x.shape());
    for (std::int64_t k = 0; k < found.x.size(0); ++k) {
      if (is_marked(found, k)) {
        ++n_marked;
        continue;
      }
      expect_same(found.x.select(0, k), expected.x.select(0, k));
      expect_same(found.y.select(0, k), expected.y.select(0, k));
      expect_same(found.sizes.select(0, k), expected.sizes.select(0, k));
    }
  }
  EXPECT_NEAR(n_marked / (8.0 * kSteps), 0.4, 0.08);
}

TEST(CustomFamily, OneFamilyIsEveryTable) {
  TableStream stream(small_stream(1), Device::cpu());
  std::set<double> marks;
  for (std::int64_t step = 0; step < 8; ++step) {
    const Tables tables = stream.tables(step);
    for (std::int64_t k = 0; k < 8; ++k) {
      ASSERT_TRUE(is_marked(tables, k));
      marks.insert(tables.x.select(0, k).select(0, 0).select(0, 0).item());
    }
  }
  EXPECT_EQ(marks.size(), 64U);
  EXPECT_EQ(*marks.begin(), 1000);
  EXPECT_EQ(*marks.rbegin(), 1063);
}

TEST(CustomFamily, WrongShapesAreRefused) {
  TableStreamOptions options = small_stream(1);
  options.families[0].generate = [](const CustomRequest& request) {
    const auto count = static_cast<std::int64_t>(request.indices.size());
    return std::pair(zeros({count, request.n_rows, request.n_features}),
                     zeros({count, request.n_rows + 1}));
  };
  EXPECT_TRUE(says(failure([&] { TableStream(options, Device::cpu()).tables(0); }),
                   "invalid_argument: [pretrain] family \"marked\": expected y ("));
}

TEST(GpuCustomFamily, EqualsTheCpu) {
  CAUSEWAY_REQUIRE_GPU();
  TableStream cpu(small_stream(0.4), Device::cpu());
  TableStream gpu(small_stream(0.4), Device::cuda());
  for (std::int64_t step = 0; step < 20; ++step) {
    const Tables expected = cpu.tables(step);
    const Tables found = gpu.tables(step);
    expect_same(found.x.to(Device::cpu()), expected.x);
    expect_same(found.y.to(Device::cpu()), expected.y);
    expect_same(found.sizes.to(Device::cpu()), expected.sizes);
  }
}

dist::Group& alone() {
  static dist::Group group;
  return group;
}

std::vector<double> losses_of(const PretrainConfig& config, const RunParts& parts, int n_steps,
                              Device device = Device::cpu()) {
  Pretrainer trainer(config, device, alone(), 0, parts);
  std::vector<double> losses;
  for (int i = 0; i < n_steps; ++i) {
    trainer.advance();
    losses.push_back(trainer.progress().loss);
  }
  return losses;
}

TEST(RunParts, ASourceReplacesThePrior) {
  PretrainConfig config = small_pretraining();
  config.stages.clear();
  const std::vector<double> expected = losses_of(config, {}, 6);
  RunParts parts;
  TableStreamOptions options;
  options.prior = config.prior;
  options.batch = config.batch;
  options.window_steps = config.window_steps;
  parts.source = std::make_shared<TableStream>(options, Device::cpu());
  config.batches = "stream";
  EXPECT_EQ(losses_of(config, parts, 6), expected);
}

// The mean over all cells of (w x)^2.
class Quadratic final : public train::CustomModel {
 public:
  explicit Quadratic(Device device) {
    weight_.add_parameter("weight", full({1}, 2, DType::f32, device));
  }
  nn::Module& module() override { return weight_; }
  Tensor loss(const Tables& tables) override {
    const Tensor scaled = autograd::multiply(tables.x, weight_.parameters().front());
    return autograd::mean(autograd::multiply(scaled, scaled));
  }

 private:
  nn::Module weight_;
};

void trains_a_custom_model(Device device) {
  PretrainConfig config = small_pretraining();
  config.muon = false;
  config.custom_model = "Quadratic";
  config.schedule.peak = 0.05;
  RunParts parts;
  parts.model = std::make_shared<Quadratic>(device);
  const std::vector<double> losses = losses_of(config, parts, 40, device);
  const double weight = parts.model->module().parameters().front().item();
  EXPECT_LT(std::abs(weight), 1.5) << "AdamW moves it towards 0";
  EXPECT_LT(losses.back(), losses.front());
}

TEST(RunParts, ACustomModelIsTrained) { trains_a_custom_model(Device::cpu()); }

TEST(GpuRunParts, ACustomModelIsTrained) {
  CAUSEWAY_REQUIRE_GPU();
  trains_a_custom_model(Device::cuda());
}

TEST(RunParts, ARunThatHadThemNeedsThem) {
  PretrainConfig config = small_pretraining();
  config.families = "marked=0.5";
  EXPECT_TRUE(says(
      failure([&] { Pretrainer(config, Device::cpu(), alone()); }), "invalid_argument: [pretrain]",
      "with the prior families marked=0.5; resume it there with causeway.pretrain(prior=...)"));
  RunParts parts;
  parts.families = {marked(0.5)};
  config.families.clear();
  EXPECT_TRUE(says(failure([&] { Pretrainer(config, Device::cpu(), alone(), 0, parts); }),
                   "invalid_argument: [pretrain] the settings name no prior families"));
}

}  // namespace
}  // namespace causeway::train_test
