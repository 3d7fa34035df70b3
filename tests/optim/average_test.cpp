// Learning-rate schedules at their corners, and averages of weights.
#include "causeway/optim/average.h"

#include "causeway/core/error.h"
#include "causeway/optim/schedule.h"
#include "causeway/tensor/create.h"

#include <vector>

#include <gtest/gtest.h>

namespace causeway::optim {
namespace {

TEST(Schedule, ConstantWithoutWarmup) {
  const Schedule schedule{.peak = 0.5};
  EXPECT_EQ(schedule.at(0), 0.5);
  EXPECT_EQ(schedule.at(1'000'000), 0.5);
}

TEST(Schedule, WarmupIsLinearAndNeverZero) {
  const Schedule schedule{.peak = 1, .warmup = 4};
  EXPECT_EQ(schedule.at(0), 0.25);
  EXPECT_EQ(schedule.at(2), 0.75);
  EXPECT_EQ(schedule.at(3), 1);
  EXPECT_EQ(schedule.at(4), 1);
}

TEST(Schedule, LinearDecayReachesTheFloor) {
  const Schedule schedule{
      .peak = 1, .warmup = 2, .total = 10, .decay = Decay::linear, .floor = 0.2};
  EXPECT_EQ(schedule.at(1), 1);
  EXPECT_EQ(schedule.at(2), 1);
  EXPECT_NEAR(schedule.at(6), 0.6, 1e-15);
  EXPECT_NEAR(schedule.at(10), 0.2, 1e-15);
  EXPECT_NEAR(schedule.at(99), 0.2, 1e-15);  // stays after the last step
}

TEST(Schedule, CosineDecayReachesTheFloor) {
  const Schedule schedule{.peak = 1, .warmup = 0, .total = 8, .decay = Decay::cosine, .floor = 0.1};
  EXPECT_EQ(schedule.at(0), 1);
  EXPECT_NEAR(schedule.at(2), 0.1 + 0.9 * 0.853553390593, 1e-12);
  EXPECT_NEAR(schedule.at(4), 0.55, 1e-15);
  EXPECT_NEAR(schedule.at(8), 0.1, 1e-15);
}

TEST(Schedule, TotalWithinWarmupDecaysAfterIt) {
  const Schedule schedule{.peak = 1, .warmup = 5, .total = 3, .decay = Decay::linear};
  EXPECT_EQ(schedule.at(4), 1);
  EXPECT_EQ(schedule.at(5), 1);
  EXPECT_EQ(schedule.at(6), 0);
}

TEST(Average, MovingAverageFollowsTheFormula) {
  const Tensor weight = full({2}, 1.0, DType::f64);
  MovingAverage average({weight}, 0.75);
  double want = 1;
  for (int step = 1; step <= 5; ++step) {
    weight.copy_from(full({2}, step * 3.0, DType::f64));
    average.update();
    want += (step * 3.0 - want) * 0.25;
    EXPECT_NEAR(average.values()[0].select(0, 1).item(), want, 1e-12);
  }
  average.copy_to_weights();
  EXPECT_NEAR(weight.select(0, 0).item(), want, 1e-12);
  EXPECT_THROW(MovingAverage({weight}, 1.0), Error);
}

TEST(Average, MovingAverageOf16BitWeightsIsF32) {
  const Tensor weight = ones({1}, DType::bf16);
  MovingAverage average({weight}, 0.999);
  EXPECT_EQ(average.values()[0].dtype(), DType::f32);
  weight.copy_from(full({1}, 2.0, DType::bf16));
  average.update();
  EXPECT_NEAR(average.values()[0].item(), 1.001, 1e-6);  // below the resolution of bf16
}

TEST(Average, LastAverageKeepsTheLastSnapshots) {
  const Tensor weight = zeros({1}, DType::f64);
  LastAverage average({weight}, 3);
  EXPECT_THROW(average.values(), Error);
  for (int step = 1; step <= 5; ++step) {
    weight.copy_from(full({1}, step * step, DType::f64));
    average.update();
  }
  EXPECT_EQ(average.snapshots(), 3u);
  EXPECT_NEAR(average.values()[0].item(), (9 + 16 + 25) / 3.0, 1e-12);
  average.copy_to_weights();
  EXPECT_NEAR(weight.item(), (9 + 16 + 25) / 3.0, 1e-12);
  EXPECT_THROW(LastAverage({weight}, 0), Error);
}

TEST(Average, StatesRoundTrip) {
  const Tensor weight = zeros({2}, DType::f64);
  MovingAverage moving({weight}, 0.5);
  LastAverage last({weight}, 2);
  for (int step = 1; step <= 3; ++step) {
    weight.copy_from(full({2}, step, DType::f64));
    moving.update();
    last.update();
  }
  MovingAverage moving_copy({weight}, 0.5);
  moving_copy.load_state(moving.state());
  EXPECT_EQ(moving_copy.values()[0].to_vector<double>(), moving.values()[0].to_vector<double>());
  LastAverage last_copy({weight}, 2);
  last_copy.load_state(last.state());
  EXPECT_EQ(last_copy.snapshots(), 2u);
  EXPECT_EQ(last_copy.values()[0].to_vector<double>(), (std::vector<double>{2.5, 2.5}));
  LastAverage shorter({weight}, 1);
  shorter.load_state(last.state());  // keeps the newest
  EXPECT_EQ(shorter.values()[0].to_vector<double>(), (std::vector<double>{3, 3}));
  MovingAverage other({zeros({3}, DType::f64)}, 0.5);
  EXPECT_THROW(other.load_state(moving.state()), Error);
}

}  // namespace
}  // namespace causeway::optim
