// Reductions on the CPU against std:: algorithms: extremes with special floating-point values, at
// sizes around the kernels' block sizes, and column sums.
#include "causeway/tensor/reduce.h"

#include "causeway/runtime/threads.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

namespace causeway {
namespace {

// Sizes around the lanes, blocks and pieces of the kernels.
constexpr std::int64_t kSizes[] = {1,    2,    15,   31,   32,    33,    127,   1003,
                                   4095, 4096, 4097, 8191, 12289, 65536, 65537, 140001};

struct Extremes {
  double min, max;
  std::int64_t first_min, first_max;
};

// The first NaN takes precedence.
Extremes expected_extremes(const std::vector<double>& values) {
  const auto nan =
      std::find_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  if (nan != values.end()) return {NAN, NAN, nan - values.begin(), nan - values.begin()};
  const auto least = std::min_element(values.begin(), values.end());
  const auto most = std::max_element(values.begin(), values.end());
  return {*least, *most, least - values.begin(), most - values.begin()};
}

void expect_extremes(const Tensor& x, const std::string& what) {
  const Extremes want = expected_extremes(x.to(DType::f64).to_vector<double>());
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_TRUE(same(min(x).item(), want.min)) << what << ": " << min(x).item();
  EXPECT_TRUE(same(max(x).item(), want.max)) << what << ": " << max(x).item();
  EXPECT_EQ(argmin(x).item(), static_cast<double>(want.first_min)) << what;
  EXPECT_EQ(argmax(x).item(), static_cast<double>(want.first_max)) << what;
}

void set(const Tensor& x, std::int64_t at, double value) {
  x.slice(0, at, at + 1).copy_from(full({1}, value, x.dtype()));
}

TEST(Reduce, ExtremesOfEveryTypeAndSize) {
  Generator generator(1);
  for (DType dtype : kAllDTypes) {
    for (std::int64_t size : kSizes) {
      // Integers have few values, so that the first of many equals must be found.
      expect_extremes(draw(generator, {size}, dtype),
                      fmt::format("{} of {}", to_string(dtype), size));
    }
  }
}

TEST(Reduce, NanIsTheExtreme) {
  Generator generator(2);
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (std::int64_t size : kSizes) {
      for (std::int64_t at : {std::int64_t{0}, size / 3, size / 2, size - 1}) {
        const Tensor x = generator.normal({size}, 0, 1, dtype);
        set(x, at, NAN);
        const auto what = fmt::format("{} NaN at {} of {}", to_string(dtype), at, size);
        expect_extremes(x, what);
        set(x, size - 1, NAN);  // the first one takes precedence
        expect_extremes(x, what + " and last");
      }
    }
  }
}

TEST(Reduce, InfinitiesAreOrdered) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (std::int64_t size : kSizes) {
      const Tensor x = Generator(3).normal({size}, 0, 1, dtype);
      set(x, size / 2, INFINITY);
      expect_extremes(x, fmt::format("inf in {}", size));
      set(x, size - 1, -INFINITY);  // their sum is NaN, but no element is
      expect_extremes(x, fmt::format("inf and -inf in {}", size));
      set(x, 0, NAN);
      expect_extremes(x, fmt::format("inf, -inf and NaN in {}", size));
      expect_extremes(full({size}, -INFINITY, dtype), fmt::format("only -inf, {}", size));
      expect_extremes(full({size}, INFINITY, dtype), fmt::format("only inf, {}", size));
      expect_extremes(full({size}, NAN, dtype), fmt::format("only NaN, {}", size));
      expect_extremes(full({size}, -0.0, dtype), fmt::format("only -0, {}", size));
    }
  }
}

TEST(Reduce, SumsOfColumns) {
  Generator generator(4);
  for (std::int64_t rows : {1, 7, 8, 9, 31, 33, 64, 65, 129, 1003}) {
    for (std::int64_t columns : {2, 3, 31, 257, 2047, 2048, 2049, 4099}) {
      const Tensor x = generator.normal({2, rows, columns});
      std::vector<double> want(static_cast<std::size_t>(2 * columns));
      const auto values = x.to_vector<float>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto outer = static_cast<std::int64_t>(i) / (rows * columns);
        const auto column = static_cast<std::int64_t>(i) % columns;
        want[static_cast<std::size_t>(outer * columns + column)] += values[i];
      }
      expect_close(sum(x, {1}), Tensor::from<double>(want, {2, columns}).to(DType::f32),
                   fmt::format("{}x{}", rows, columns));
    }
  }
}

TEST(Reduce, ColumnsDoNotDependOnTheNumberOfThreads) {
  const Tensor x = Generator(5).normal({777, 4099});
  const int before = thread_count();
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::argmax}) {
    set_thread_count(1);
    const Tensor one = reduce(op, x, {0});
    set_thread_count(3);
    expect_same_bytes(reduce(op, x, {0}), one, std::string(kernels::to_string(op)));
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace causeway
