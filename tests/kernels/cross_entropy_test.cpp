// Cross entropy against plain f64 loops on the CPU, against finite differences, and the GPU against
// the CPU.
#include "causeway/kernels/cross_entropy/cross_entropy.h"

#include "causeway/core/error.h"
#include "tests/kernels/guarded.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace causeway {
namespace {

using kernels::CrossEntropy;
using kernels::Operand;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Inputs {
  CrossEntropy how;
  Tensor logits, targets;
  double scale = 0.25;
  bool in_place = false;
  std::int64_t shift = 0;
};

struct Results {
  Tensor losses, gradient;
};

// Classes, every fifth of them ignored; or probabilities.
Inputs draw_inputs(Generator& generator, std::int64_t rows, std::int64_t columns, DType dtype,
                   bool classes, double smoothing) {
  Inputs inputs;
  inputs.how = {rows, columns, -100, smoothing};
  inputs.logits = generator.normal({rows, columns}, 0, 3, dtype);
  if (classes) {
    auto chosen = generator.integers({rows}, 0, columns).to_vector<std::int64_t>();
    for (std::size_t i = 4; i < chosen.size(); i += 5) chosen[i] = -100;
    inputs.targets = Tensor::from<std::int64_t>(chosen, {rows});
    return inputs;
  }
  auto values = doubles(generator.uniform({rows, columns}, 0, 1, DType::f64));
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += values[at(r * columns + c)];
    for (std::int64_t c = 0; c < columns; ++c) values[at(r * columns + c)] /= sum;
  }
  inputs.targets = from_doubles(values, dtype);
  return inputs;
}

Results run_on(Device device, const Inputs& inputs, bool wants_gradient = true) {
  const CrossEntropy& how = inputs.how;
  const DType dtype = inputs.logits.dtype();
  const DType statistics = statistics_of(dtype);
  const Tensor targets = inputs.targets.to(device);
  const Tensor scale = full({1}, inputs.scale, statistics, device);
  const Tensor logits = placed(inputs.logits, device, inputs.shift);
  const Guarded losses(how.n_rows, statistics, device);
  const Guarded gradient(how.n_rows * how.n_columns, dtype, device, inputs.shift);
  if (inputs.in_place && logits.numel() > 0) gradient.inside().copy_from(logits);
  kernels::cross_entropy(current_stream(device), how,
                         inputs.in_place ? gradient.operand() : operand_of(logits),
                         operand_of(targets), operand_of(scale), losses.operand(),
                         wants_gradient ? gradient.operand() : Operand{});
  return {losses.take("losses"), gradient.take("gradient")};
}

Results plain(const Inputs& inputs) {
  const CrossEntropy& how = inputs.how;
  const std::int64_t n = how.n_columns;
  const DType dtype = inputs.logits.dtype();
  const bool classes = inputs.targets.dtype() == DType::i64;
  const auto x = doubles(inputs.logits);
  const auto t = classes ? std::vector<double>() : doubles(inputs.targets);
  const auto chosen =
      classes ? inputs.targets.to_vector<std::int64_t>() : std::vector<std::int64_t>();
  std::vector<double> losses(at(how.n_rows), 0.0), gradient(x.size(), 0.0);
  for (std::int64_t r = 0; r < how.n_rows; ++r) {
    if (classes && chosen[at(r)] == how.ignore_index) continue;
    double max = -kInfinity, sum = 0, total = 0;
    for (std::int64_t c = 0; c < n; ++c) max = std::max(max, x[at(r * n + c)]);
    for (std::int64_t c = 0; c < n; ++c) sum += std::exp(x[at(r * n + c)] - max);
    const auto target = [&](std::int64_t c) {
      const double given = classes ? (chosen[at(r)] == c ? 1.0 : 0.0) : t[at(r * n + c)];
      return (1 - how.smoothing) * given + how.smoothing / double(n);
    };
    for (std::int64_t c = 0; c < n; ++c) total += target(c);
    for (std::int64_t c = 0; c < n; ++c) {
      const double log_p = x[at(r * n + c)] - max - std::log(sum);
      if (target(c) != 0) losses[at(r)] -= target(c) * log_p;
      gradient[at(r * n + c)] = (std::exp(log_p) * total - target(c)) * inputs.scale;
    }
  }
  return {from_doubles(losses, statistics_of(dtype)), from_doubles(gradient, dtype)};
}

TEST(CrossEntropy, MatchesReference) {
  Generator generator(1);
  for (DType dtype : kFloating) {
    for (std::int64_t columns : kColumns) {
      for (std::int64_t rows : kRows) {
        if (skips(rows, columns)) continue;
        for (bool classes : {true, false}) {
          for (double smoothing : {0.0, 0.1}) {
            const Inputs inputs = draw_inputs(generator, rows, columns, dtype, classes, smoothing);
            const auto what =
                fmt::format("{} {}x{} {} smoothed by {}", to_string(dtype), rows, columns,
                            classes ? "classes" : "probabilities", smoothing);
            const Results found = run_on(Device::cpu(), inputs);
            const Results want = plain(inputs);
            expect_close(found.losses, want.losses, what + " losses", 10);
            expect_close(found.gradient, want.gradient, what + " gradient", 4);
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, HugeAndInfiniteLogits) {
  const std::vector<double> logits = {1e4,  1e4 - 1, -1e4, -kInfinity,  // the target is the maximum
                                      1e4,  0,       -1e4, -kInfinity,  // the target is -inf
                                      -1e4, -1e4,    -1e4, -1e4};       // all equal
  Inputs inputs;
  inputs.how = {3, 4, -100, 0};
  inputs.logits = from_doubles(logits, DType::f32);
  inputs.targets = Tensor::from<std::int64_t>(std::vector<std::int64_t>{0, 3, 2}, {3});
  inputs.scale = 1;
  const auto losses = doubles(run_on(Device::cpu(), inputs).losses);
  EXPECT_NEAR(losses[0], std::log1p(std::exp(-1)), 1e-6);
  EXPECT_EQ(losses[1], kInfinity);
  EXPECT_NEAR(losses[2], std::log(4.0), 1e-6);
  expect_close(run_on(Device::cpu(), inputs).gradient, plain(inputs).gradient, "gradient", 4);
}

// The smoothing term uses all logits: all far from 0, far apart, and not finite.
void expect_smoothed(Device device, std::int64_t columns, DType dtype) {
  const std::int64_t rows = 4;
  std::vector<double> logits(at(rows * columns));
  for (std::int64_t c = 0; c < columns; ++c) {
    logits[at(c)] = 1048576 + double(c % 3);
    logits[at(columns + c)] = c == 1 ? 1e30 : double(c % 5);
    logits[at(2 * columns + c)] = c == columns - 1 ? -kInfinity : 1;
    logits[at(3 * columns + c)] = -1e30;
  }
  Inputs inputs;
  inputs.how = {rows, columns, -100, 0.1};
  inputs.logits = from_doubles(logits, dtype);
  inputs.targets =
      Tensor::from<std::int64_t>(std::vector<std::int64_t>{1, 0, columns - 1, 2}, {rows});
  for (bool wants_gradient : {true, false}) {
    const auto what =
        fmt::format("{} {} columns on {}", to_string(dtype), columns, to_string(device));
    const Results found = run_on(device, inputs, wants_gradient);
    expect_close(found.losses, plain(inputs).losses, what + " losses", 10);
    if (wants_gradient) expect_close(found.gradient, plain(inputs).gradient, what, 4);
  }
}

TEST(CrossEntropy, SmoothingWithHugeAndInfiniteLogits) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (std::int64_t columns : {4, 33, 5000}) expect_smoothed(Device::cpu(), columns, dtype);
  }
}

TEST(GpuCrossEntropy, SmoothingWithHugeAndInfiniteLogits) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (std::int64_t columns : {4, 33, 1024, 5000, 50257, 50304, 130000}) {
      expect_smoothed(kGpu, columns, dtype);
    }
  }
}

TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  Generator generator(2);
  for (bool classes : {true, false}) {
    for (double smoothing : {0.0, 0.2}) {
      Inputs inputs = draw_inputs(generator, 6, 7, DType::f64, classes, smoothing);
      inputs.scale = 1;
      expect_gradient(
          [&](const std::vector<double>& point) {
            Inputs moved = inputs;
            moved.logits = from_doubles(point, DType::f64);
            double sum = 0;
            for (double loss : doubles(run_on(Device::cpu(), moved, false).losses)) sum += loss;
            return sum;
          },
          doubles(inputs.logits), doubles(run_on(Device::cpu(), inputs).gradient), "logits");
    }
  }
}

TEST(CrossEntropy, GradientIsOptional) {
  Generator generator(3);
  const Inputs inputs = draw_inputs(generator, 3, 33, DType::f32, true, 0);
  const Results found = run_on(Device::cpu(), inputs, false);
  expect_close(found.losses, plain(inputs).losses, "losses", 10);
  for (double value : doubles(found.gradient)) ASSERT_EQ(value, 77);
}

TEST(CrossEntropy, TargetOutOfRangeIsNamed) {
  Generator generator(4);
  Inputs inputs = draw_inputs(generator, 3, 5, DType::f32, true, 0);
  inputs.targets = Tensor::from<std::int64_t>(std::vector<std::int64_t>{0, 5, 1}, {3});
  try {
    run_on(Device::cpu(), inputs);
    FAIL() << "a target out of range was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("index 5 is out of range"), std::string::npos)
        << error.what();
  }
}

double weight_on(Device device, const std::vector<std::int64_t>& targets, DType dtype) {
  const auto count = static_cast<std::int64_t>(targets.size());
  const Tensor there = Tensor::from<std::int64_t>(targets, {count}).to(device);
  const Guarded out(1, dtype, device);
  kernels::target_weight(current_stream(device), CrossEntropy{count, 10, -100, 0},
                         operand_of(there), out.operand());
  return doubles(out.take("target weight"))[0];
}

TEST(CrossEntropy, TargetWeight) {
  EXPECT_EQ(weight_on(Device::cpu(), {1, -100, 3, -100, 5, 0}, DType::f64), 0.25);
  EXPECT_EQ(weight_on(Device::cpu(), {-100, -100}, DType::f32), 0);
  EXPECT_EQ(weight_on(Device::cpu(), {}, DType::f32), 0);
}

TEST(GpuCrossEntropy, TargetWeight) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(weight_on(kGpu, {-100, -100}, dtype), 0);
    EXPECT_EQ(weight_on(kGpu, {}, dtype), 0);
    for (std::size_t count : {1u, 31u, 1000u, 5000u, 100'001u}) {
      std::vector<std::int64_t> targets(count, 3);
      for (std::size_t i = 0; i < count; i += 7) targets[i] = -100;
      EXPECT_EQ(weight_on(kGpu, targets, dtype), weight_on(Device::cpu(), targets, dtype));
    }
  }
}

TEST(GpuCrossEntropy, MatchesCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(5);
  for (DType dtype : kFloating) {
    for (std::int64_t columns :
         {1, 2, 7, 10, 31, 33, 96, 256, 512, 1000, 1024, 1025, 5000, 50257, 50304, 130000}) {
      for (std::int64_t rows : {0, 1, 3, 100}) {
        if (rows == 100 && columns > 5000) continue;
        for (bool classes : {true, false}) {
          for (double smoothing : {0.0, 0.1}) {
            Inputs inputs = draw_inputs(generator, rows, columns, dtype, classes, smoothing);
            const Results want = run_on(Device::cpu(), inputs);
            for (std::int64_t shift : {0, 1}) {
              for (bool in_place : {false, true}) {
                inputs.shift = shift;
                inputs.in_place = in_place;
                const auto what =
                    fmt::format("{} {}x{} {} smoothed by {}{} shifted by {}", to_string(dtype),
                                rows, columns, classes ? "classes" : "probabilities", smoothing,
                                in_place ? " in place" : "", shift);
                const Results found = run_on(kGpu, inputs);
                expect_close(found.losses, want.losses, what + " losses", 20);
                expect_close(found.gradient, want.gradient, what + " gradient", 4);
                expect_same_bytes(run_on(kGpu, inputs).gradient, found.gradient, what);
              }
            }
            const Results alone = run_on(kGpu, inputs, false);
            expect_close(alone.losses, want.losses, "losses alone", 20);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(GpuCrossEntropy, TargetOutOfRangeIsNamed) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(6);
  for (std::int64_t columns : {5, 5000}) {
    Inputs inputs = draw_inputs(generator, 3, columns, DType::f32, true, 0);
    inputs.targets = Tensor::from<std::int64_t>(std::vector<std::int64_t>{0, columns, 1}, {3});
    EXPECT_THROW(run_on(kGpu, inputs), Error);
    EXPECT_NO_THROW(synchronize(kGpu));
  }
}

}  // namespace
}  // namespace causeway
