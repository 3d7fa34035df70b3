// Training that stops, saves and resumes in new objects gives the same bits as uninterrupted
// training: losses, weights, averages of weights, dropout.
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/loss.h"
#include "causeway/nn/layers.h"
#include "causeway/optim/average.h"
#include "causeway/optim/optimizer.h"
#include "causeway/optim/schedule.h"
#include "tests/train/checkpoints.h"

#include <nlohmann/json.hpp>

#include <memory>

namespace causeway::train_test {
namespace {

using optim::Algorithm;
using optim::GroupOptions;

struct Case {
  const char* name;
  DType dtype;
  Algorithm matrices;
  optim::OptimizerOptions options;
  bool evaluates = false;  // switches to averaged weights and back after each step
};

constexpr std::int64_t kWidth = 6;

// A network with dropout, its optimizer and averages, and the state of its random generator.
class Training {
 public:
  explicit Training(const Case& which, std::uint64_t seed = 3)
      : case_(which), weights_(11), data_(seed), optimizer_(which.options) {
    const nn::Placement placement{which.dtype, Device::cpu(), &weights_};
    net_ = std::make_shared<nn::Sequential>(std::vector<std::shared_ptr<nn::Module>>{
        std::make_shared<nn::Linear>(kWidth, 16, true, placement),
        std::make_shared<nn::Unary>(UnaryOp::gelu), std::make_shared<nn::Dropout>(0.1),
        std::make_shared<nn::Linear>(16, 1, true, placement)});
    std::vector<Tensor> matrices;
    std::vector<Tensor> others;
    for (const Tensor& parameter : net_->parameters()) {
      (parameter.n_dims() == 2 ? matrices : others).push_back(parameter);
    }
    GroupOptions options{.algorithm = which.matrices, .momentum = 0.95, .weight_decay = 0.01};
    optimizer_.add_group(matrices, options);
    if (which.matrices == Algorithm::muon) options.algorithm = Algorithm::adamw;
    optimizer_.add_group(others, options);
    moving_ = std::make_unique<optim::MovingAverage>(net_->parameters(), 0.9);
    last_ = std::make_unique<optim::LastAverage>(net_->parameters(), 3);
    autograd::manual_seed(5);
  }

  double step() {
    const optim::Schedule schedule{0.02, 4, 20, optim::Decay::cosine, 0.001};
    optimizer_.set_learning_rate(schedule.at(step_++));
    autograd::begin_step(Device::cpu());
    const Tensor x = data_.normal({8, kWidth}, 0, 1, case_.dtype);
    const Tensor y = data_.normal({8, 1}, 0, 1, case_.dtype);
    const Tensor loss = autograd::mse_loss((*net_)(x), y);
    optimizer_.zero_grad();
    autograd::backward(autograd::multiply(loss, optimizer_.loss_scale()));
    optimizer_.step();
    moving_->update();
    if (step_ % 2 == 0) last_->update();
    if (case_.evaluates) {
      optimizer_.eval();
      optimizer_.train();
    }
    return loss.item();
  }

  void evaluate() { optimizer_.eval(); }
  void train() { optimizer_.train(); }

  Checkpoint checkpoint() {
    Checkpoint checkpoint;
    checkpoint.step = step_;
    checkpoint.random = nlohmann::json{{"seed", data_.seed()},
                                       {"next", data_.next()},
                                       {"dropout", autograd::current_step(Device::cpu())}}
                            .dump();
    checkpoint.tensors = {{"model", net_->state()},
                          {"optimizer", optimizer_.state()},
                          {"moving", moving_->state()},
                          {"last", last_->state()}};
    return checkpoint;
  }

  void resume(const Checkpoint& checkpoint) {
    step_ = checkpoint.step;
    const auto random = nlohmann::json::parse(checkpoint.random);
    data_ = Generator(random.at("seed").get<std::uint64_t>());
    data_.seek(random.at("next").get<std::uint64_t>());
    autograd::set_step(Device::cpu(), random.at("dropout").get<std::int64_t>());
    net_->load_state(checkpoint.tensors.at("model"));
    optimizer_.load_state(checkpoint.tensors.at("optimizer"));
    moving_->load_state(checkpoint.tensors.at("moving"));
    last_->load_state(checkpoint.tensors.at("last"));
  }

 private:
  Case case_;
  std::int64_t step_ = 0;
  Generator weights_;
  Generator data_;
  std::shared_ptr<nn::Sequential> net_;
  optim::Optimizer optimizer_;
  std::unique_ptr<optim::MovingAverage> moving_;
  std::unique_ptr<optim::LastAverage> last_;
};

void expect_same_tensors(const Checkpoint& found, const Checkpoint& expected) {
  EXPECT_EQ(found.random, expected.random);
  for (const auto& [set, tensors] : expected.tensors) {
    ASSERT_EQ(found.tensors.at(set).size(), tensors.size()) << set;
    for (const auto& [name, tensor] : tensors) {
      SCOPED_TRACE(set + "/" + name);
      data_test::expect_same(found.tensors.at(set).at(name), tensor);
    }
  }
}

class Resume : public testing::TestWithParam<Case> {};

TEST_P(Resume, TenStepsAndTenMoreEqualTwenty) {
  const Scratch scratch;
  Training whole(GetParam());
  std::vector<double> expected;
  for (int i = 0; i < 20; ++i) expected.push_back(whole.step());
  const Checkpoint end = whole.checkpoint();
  EXPECT_NE(expected.front(), expected.back());

  std::vector<double> losses;
  {
    Training first(GetParam());
    for (int i = 0; i < 10; ++i) losses.push_back(first.step());
    CheckpointFolder(scratch.folder()).save(first.checkpoint());
    first.step();  // and is killed
  }
  Training second(GetParam(), 1234);
  second.step();  // whatever the fresh objects hold is replaced
  second.resume(*CheckpointFolder(scratch.folder()).load_newest());
  for (int i = 0; i < 10; ++i) losses.push_back(second.step());
  EXPECT_EQ(losses, expected);
  expect_same_tensors(second.checkpoint(), end);
}

// Without the optimizer's state the resumed run differs, so the tests above can fail.
TEST_P(Resume, WithoutTheOptimizersStateItDiffers) {
  Training first(GetParam());
  for (int i = 0; i < 10; ++i) first.step();
  const Checkpoint middle = first.checkpoint();
  const Checkpoint copy = [&] {
    const Scratch scratch;
    CheckpointFolder(scratch.folder()).save(middle);
    return *CheckpointFolder(scratch.folder()).load_newest();
  }();
  first.step();
  const double expected = first.step();

  Training second(GetParam());
  Checkpoint lacking = copy;
  lacking.tensors["optimizer"] = Training(GetParam()).checkpoint().tensors.at("optimizer");
  second.resume(lacking);
  second.step();
  EXPECT_NE(second.step(), expected);
}

optim::OptimizerOptions clipped() {
  optim::OptimizerOptions options;
  options.max_norm = 0.5;
  return options;
}

optim::OptimizerOptions scaled() {
  optim::OptimizerOptions options;
  options.loss_scale = 1024;
  options.growth_interval = 3;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, Resume,
    testing::Values(Case{"adamw", DType::f32, Algorithm::adamw, clipped()},
                    Case{"adamw_bf16", DType::bf16, Algorithm::adamw, clipped()},
                    Case{"adamw_f16_scaled", DType::f16, Algorithm::adamw, scaled()},
                    Case{"adamw_f64", DType::f64, Algorithm::adamw, {}},
                    Case{"schedule_free", DType::f32, Algorithm::schedule_free, clipped()},
                    Case{"schedule_free_bf16", DType::bf16, Algorithm::schedule_free, {}},
                    Case{"schedule_free_evaluated", DType::f32, Algorithm::schedule_free, {}, true},
                    Case{"muon", DType::f32, Algorithm::muon, clipped()},
                    Case{"muon_bf16", DType::bf16, Algorithm::muon, {}},
                    Case{"sgd", DType::f32, Algorithm::sgd, clipped()},
                    Case{"rmsprop_bf16", DType::bf16, Algorithm::rmsprop, {}},
                    Case{"adagrad", DType::f32, Algorithm::adagrad, {}}),
    [](const auto& instance) { return std::string(instance.param.name); });

// A checkpoint saved while the averaged weights are in use resumes too.
TEST(ResumeAveraged, EvaluationModeIsRestored) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case which{"", dtype, Algorithm::schedule_free, {}};
    const Scratch scratch;
    Training first(which);
    for (int i = 0; i < 5; ++i) first.step();
    first.evaluate();
    CheckpointFolder(scratch.folder()).save(first.checkpoint());
    first.train();
    first.step();
    const Checkpoint expected = first.checkpoint();

    Training second(which);
    second.resume(*CheckpointFolder(scratch.folder()).load_newest());
    EXPECT_TRUE(says(failure([&] { second.step(); }), "invalid_argument:", "call train() first"));
    second.resume(*CheckpointFolder(scratch.folder()).load_newest());
    second.train();
    second.step();
    expect_same_tensors(second.checkpoint(), expected);
  }
}

TEST(Averages, StatesOfOtherShapesAreRefused) {
  const Tensor a = filled({3}, 1);
  const Tensor b = filled({2, 2}, 2);
  optim::MovingAverage moving({a, b}, 0.5);
  EXPECT_TRUE(says(failure([&] {
                     moving.load_state({{"0", a}});
                   }),
                   "format: [moving_average.load_state] the state has 1 tensors, expected 2"));
  EXPECT_TRUE(says(failure([&] {
                     moving.load_state({{"0", a}, {"2", b}});
                   }),
                   "format:", "\"1\" is missing"));
  EXPECT_TRUE(says(failure([&] {
                     moving.load_state({{"0", a}, {"1", a}});
                   }),
                   "format:", "\"1\" is (3,) of f32, expected (2, 2) of f32"));
  EXPECT_EQ(moving.values()[0].to_vector<float>(), std::vector<float>(3, 1));

  optim::LastAverage last({a, b}, 2);
  EXPECT_TRUE(last.state().empty());
  last.update();
  EXPECT_TRUE(says(failure([&] {
                     last.load_state({{"0.0", a}});
                   }),
                   "format: [last_average.load_state] the state has 1 tensors, expected 0"));
  EXPECT_TRUE(says(failure([&] {
                     last.load_state({{"0.0", a}, {"1.1", b}});
                   }),
                   "format:", "\"0.1\" is missing"));
  EXPECT_EQ(last.snapshots(), 1u);
  last.load_state({});
  EXPECT_EQ(last.snapshots(), 0u);
  // Of more than k snapshots the last stay.
  const Tensor c = filled({3}, 5);
  optim::LastAverage one({a}, 1);
  one.load_state({{"0.0", a}, {"1.0", c}});
  EXPECT_EQ(one.values()[0].to_vector<float>(), std::vector<float>(3, 5));
}

}  // namespace
}  // namespace causeway::train_test
