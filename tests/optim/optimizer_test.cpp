// Optimizers against scalar references in double precision, clipping, loss scale, master weights
// and state dicts.
#include "causeway/optim/optimizer.h"

#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/optim/muon.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/matmul.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace causeway::optim {
namespace {

using Values = std::vector<double>;

constexpr int kSteps = 10;
const Values kStart = {0.5, -1.25, 2.0};

Tensor leaf_of(const Values& values, DType dtype = DType::f64) {
  Tensor x = Tensor::from<double>(values, {static_cast<std::int64_t>(values.size())}).to(dtype);
  autograd::set_requires_grad(x, true);
  return x;
}

Values values_of(const Tensor& x) { return autograd::detach(x).to(DType::f64).to_vector<double>(); }

// A gradient that changes from step to step.
Values gradient_at(int step) {
  Values gradient;
  for (int i = 0; i < 3; ++i) gradient.push_back(std::sin(1.7 * step + i) + 0.1 * i);
  return gradient;
}

void set_gradient(const Tensor& x, const Values& gradient) {
  autograd::set_gradient(
      x,
      Tensor::from<double>(gradient, {static_cast<std::int64_t>(gradient.size())}).to(x.dtype()));
}

Values run(const GroupOptions& group, double rate = 0.01) {
  const Tensor x = leaf_of(kStart);
  Optimizer optimizer({.learning_rate = rate});
  optimizer.add_group({x}, group);
  for (int step = 0; step < kSteps; ++step) {
    set_gradient(x, gradient_at(step));
    optimizer.step();
  }
  EXPECT_EQ(optimizer.steps(), kSteps);
  return values_of(x);
}

// The state of one element of a reference implementation.
struct Scalars {
  double p;
  double a = 0;
  double b = 0;
};

// Runs update(element, gradient, step from 1) for all elements and steps.
template <class Update>
Values reference(const Update& update) {
  Values result;
  for (std::size_t i = 0; i < kStart.size(); ++i) {
    Scalars e{kStart[i]};
    for (int step = 0; step < kSteps; ++step) update(e, gradient_at(step)[i], step + 1);
    result.push_back(e.p);
  }
  return result;
}

void expect_near(const Values& got, const Values& want, double tolerance = 1e-7) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Optimizer, Sgd) {
  for (const bool nesterov : {false, true}) {
    GroupOptions group;
    group.algorithm = Algorithm::sgd;
    group.momentum = 0.9;
    group.weight_decay = 0.1;
    group.nesterov = nesterov;
    expect_near(run(group), reference([&](Scalars& e, double g, int) {
                  g += 0.1 * e.p;
                  e.a = 0.9 * e.a + g;
                  e.p -= 0.01 * (nesterov ? g + 0.9 * e.a : e.a);
                }));
  }
}

TEST(Optimizer, AdamAndAdamW) {
  for (const bool decoupled : {false, true}) {
    GroupOptions group;
    group.algorithm = decoupled ? Algorithm::adamw : Algorithm::adam;
    group.beta1 = 0.8;
    group.beta2 = 0.95;
    group.epsilon = 1e-3;
    group.weight_decay = 0.2;
    group.rate_factor = 3;
    expect_near(run(group), reference([&](Scalars& e, double g, int step) {
                  if (decoupled) {
                    e.p *= 1 - 0.03 * 0.2;
                  } else {
                    g += 0.2 * e.p;
                  }
                  e.a = 0.8 * e.a + 0.2 * g;
                  e.b = 0.95 * e.b + 0.05 * g * g;
                  const double mean = e.a / (1 - std::pow(0.8, step));
                  const double square = e.b / (1 - std::pow(0.95, step));
                  e.p -= 0.03 * mean / (std::sqrt(square) + 1e-3);
                }));
  }
}

TEST(Optimizer, ChangedOptionsTakeEffect) {
  const Tensor x = leaf_of({1.0});
  Optimizer optimizer({.learning_rate = 0.5});
  optimizer.add_group({x}, {.algorithm = Algorithm::sgd});
  optimizer.set_group_options(0, {.algorithm = Algorithm::sgd, .rate_factor = 0.5});
  set_gradient(x, {1.0});
  optimizer.step();
  EXPECT_NEAR(values_of(x)[0], 0.75, 1e-12);
  EXPECT_THROW(optimizer.set_group_options(0, {.algorithm = Algorithm::adam}), Error);
}

TEST(Optimizer, RmspropAndAdagrad) {
  GroupOptions group;
  group.algorithm = Algorithm::rmsprop;
  group.beta2 = 0.9;
  group.momentum = 0.5;
  group.epsilon = 1e-4;
  expect_near(run(group), reference([](Scalars& e, double g, int) {
                e.a = 0.9 * e.a + 0.1 * g * g;
                e.b = 0.5 * e.b + g / (std::sqrt(e.a) + 1e-4);
                e.p -= 0.01 * e.b;
              }));
  group.algorithm = Algorithm::adagrad;
  group.weight_decay = 0.1;
  expect_near(run(group), reference([](Scalars& e, double g, int) {
                g += 0.1 * e.p;
                e.a += g * g;
                e.p -= 0.01 * g / (std::sqrt(e.a) + 1e-4);
              }));
}

// z takes the steps, x averages z with weights 1 / step at a constant rate, y is between them.
TEST(Optimizer, ScheduleFree) {
  GroupOptions group;
  group.algorithm = Algorithm::schedule_free;
  group.beta2 = 0.95;
  const Tensor parameter = leaf_of(kStart);
  Optimizer optimizer({.learning_rate = 0.01});
  optimizer.add_group({parameter}, group);
  for (int step = 0; step < kSteps; ++step) {
    set_gradient(parameter, gradient_at(step));
    optimizer.step();
  }
  Values averages;
  for (std::size_t i = 0; i < kStart.size(); ++i) {
    double x = kStart[i], z = kStart[i], square = 0;
    for (int step = 1; step <= kSteps; ++step) {
      const double g = gradient_at(step - 1)[i];
      square = 0.95 * square + 0.05 * g * g;
      z -= 0.01 * g / (std::sqrt(square / (1 - std::pow(0.95, step))) + 1e-8);
      x += (z - x) / step;
    }
    averages.push_back(x);
  }
  const Values trained = values_of(parameter);
  optimizer.eval();
  expect_near(values_of(parameter), averages);
  EXPECT_THROW(optimizer.step(), Error);
  optimizer.train();
  expect_near(values_of(parameter), trained, 1e-12);
}

TEST(Optimizer, MuonOrthogonalisesTheMomentum) {
  const Tensor matrix = Generator(3).normal({5, 3}, 0, 1, DType::f64);
  const Tensor direction = orthogonalize(matrix.unsqueeze(0), 5, 1e-7).select(0, 0);
  // All singular values of the result are close to 1: so are the eigenvalues of its Gram matrix.
  const Tensor gram = matmul(direction.transpose(), direction);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(gram.select(0, i).select(0, j).item(), i == j ? 1 : 0, 0.55);
    }
  }
  GroupOptions group;
  group.algorithm = Algorithm::muon;
  group.momentum = 0.5;
  group.epsilon = 1e-7;
  group.weight_decay = 0.1;
  Tensor parameter = ones({5, 3}, DType::f64);
  autograd::set_requires_grad(parameter, true);
  Optimizer optimizer({.learning_rate = 0.25});
  optimizer.add_group({parameter}, group);
  autograd::set_gradient(parameter, matrix);
  optimizer.step();
  // The momentum is a multiple of the gradient, so the direction is that of the gradient.
  const Values want = values_of(direction), got = values_of(parameter);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], 1 - 0.25 * 0.1 - 0.25 * std::sqrt(5.0 / 3) * want[i], 1e-6);
  }
}

TEST(Optimizer, ClipsTheTotalNorm) {
  GroupOptions group;
  group.algorithm = Algorithm::sgd;
  const Tensor a = leaf_of({0, 0}), b = leaf_of({0}, DType::f32);
  Optimizer optimizer({.learning_rate = 1, .max_norm = 1});
  optimizer.add_group({a, b}, group);
  set_gradient(a, {3, 0});
  set_gradient(b, {4});
  optimizer.step();
  EXPECT_NEAR(optimizer.norm().item(), 5, 1e-6);
  expect_near(values_of(a), {-0.6, 0}, 1e-6);
  expect_near(values_of(b), {-0.8}, 1e-6);
  set_gradient(a, {0.3, 0});
  set_gradient(b, {0});
  optimizer.step();  // below the limit: unchanged
  expect_near(values_of(a), {-0.9, 0}, 1e-6);
  optimizer.set_max_norm(0);
  set_gradient(a, {3, 0});
  optimizer.step();
  expect_near(values_of(a), {-3.9, 0}, 1e-6);
}

TEST(Optimizer, LossScaleSkipsOverflowAndGrows) {
  GroupOptions group;
  group.algorithm = Algorithm::sgd;
  const Tensor x = leaf_of({1}, DType::f32);
  Optimizer optimizer({.learning_rate = 1, .loss_scale = 8, .growth_interval = 2});
  optimizer.add_group({x}, group);
  set_gradient(x, {std::numeric_limits<double>::infinity()});
  optimizer.step();
  EXPECT_EQ(values_of(x), Values{1});
  EXPECT_EQ(optimizer.steps(), 0);
  EXPECT_EQ(optimizer.loss_scale().item(), 4);
  for (int step = 0; step < 2; ++step) {
    set_gradient(x, {1});  // of a loss that is multiplied by 4
    optimizer.step();
  }
  EXPECT_EQ(values_of(x), Values{0.5});
  EXPECT_EQ(optimizer.loss_scale().item(), 8);
}

TEST(Optimizer, MasterWeightsKeepSmallUpdates) {
  GroupOptions group;
  group.algorithm = Algorithm::sgd;
  const Tensor x = leaf_of({1}, DType::bf16);
  Optimizer optimizer({.learning_rate = 1e-3});
  optimizer.add_group({x}, group);
  for (int step = 0; step < 16; ++step) {  // each is below the resolution of bf16 at 1
    set_gradient(x, {1});
    optimizer.step();
  }
  EXPECT_NEAR(optimizer.state().at("0.0.master").item(), 0.984, 1e-6);
  EXPECT_EQ(values_of(x), Values{0.984375});
  autograd::detach(x).copy_from(full({1}, 3, DType::bf16));  // the master follows
  set_gradient(x, {1});
  optimizer.step();
  EXPECT_NEAR(optimizer.state().at("0.0.master").item(), 2.999, 1e-6);
}

// The bias correction counts the steps of each parameter.
TEST(Optimizer, ParametersWithoutGradientsMissTheStep) {
  const Tensor a = leaf_of({1}), b = leaf_of({1});
  Optimizer optimizer({.learning_rate = 0.1});
  optimizer.add_group({a, b}, {});
  optimizer.step();  // no gradients at all
  EXPECT_EQ(optimizer.steps(), 0);
  for (int step = 0; step < 3; ++step) {
    set_gradient(a, {0.5});
    if (step == 2) set_gradient(b, {0.5});
    optimizer.step();
    if (step < 2) {
      EXPECT_EQ(values_of(b), Values{1});
    }
    optimizer.zero_grad();
    EXPECT_FALSE(autograd::gradient_of(a).has_value());
  }
  expect_near(values_of(b), {0.9});  // the first step of Adam is the learning rate
}

TEST(Optimizer, StateRoundTripsBitForBit) {
  const Tensor a = leaf_of(kStart, DType::f32), b = leaf_of(kStart, DType::f32);
  Optimizer from({.learning_rate = 0.01}), to({.learning_rate = 0.5});
  from.add_group({a}, {});
  to.add_group({b}, {});
  const auto step = [](Optimizer& optimizer, const Tensor& x, int at) {
    set_gradient(x, gradient_at(at));
    optimizer.step();
  };
  for (int at = 0; at < 5; ++at) step(from, a, at);
  autograd::detach(b).copy_from(autograd::detach(a));
  to.load_state(from.state());
  EXPECT_NEAR(to.learning_rate(), 0.01, 1e-9);
  for (int at = 5; at < 10; ++at) step(from, a, at), step(to, b, at);
  EXPECT_EQ(values_of(a), values_of(b));
  auto state = from.state();
  state.erase("0.0.mean");
  EXPECT_THROW(to.load_state(state), Error);
  state = from.state();
  state["0.1.mean"] = zeros({3});
  EXPECT_THROW(to.load_state(state), Error);
}

TEST(Optimizer, RejectsInvalidParametersAndOptions) {
  const Tensor x = leaf_of(kStart);
  Optimizer optimizer;
  optimizer.add_group({x}, {});
  EXPECT_THROW(optimizer.add_group({x}, {}), Error);
  EXPECT_THROW(optimizer.add_group({zeros({2})}, {}), Error);  // requires no gradient
  GroupOptions muon;
  muon.algorithm = Algorithm::muon;
  EXPECT_THROW(optimizer.add_group({leaf_of({1, 2})}, muon), Error);
  GroupOptions bad;
  bad.beta1 = 1;
  EXPECT_THROW(optimizer.add_group({leaf_of({1})}, bad), Error);
  EXPECT_THROW(Optimizer({.learning_rate = -1}), Error);
  EXPECT_THROW(Optimizer({.max_norm = -1}), Error);
  EXPECT_THROW(Optimizer({.loss_scale = 0}), Error);
  EXPECT_THROW(optimizer.set_learning_rate(NAN), Error);
}

}  // namespace
}  // namespace causeway::optim
