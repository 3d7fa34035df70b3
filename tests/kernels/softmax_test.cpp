// Softmax against plain f64 loops on the CPU, against finite differences, and the GPU against the
// CPU.
#include "causeway/kernels/norm/norm.h"
#include "tests/kernels/guarded.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace causeway {
namespace {

using kernels::SoftmaxOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor softmax_on(Device device, SoftmaxOp op, const Tensor& x, std::int64_t rows,
                  std::int64_t columns, std::int64_t shift = 0) {
  const Guarded out(rows * columns, x.dtype(), device, shift);
  kernels::softmax(current_stream(device), op, operand_of(placed(x, device, shift)), out.operand(),
                   rows, columns);
  return out.take("softmax");
}

Tensor softmax_gradient_on(Device device, SoftmaxOp op, const Tensor& y, const Tensor& g,
                           std::int64_t rows, std::int64_t columns, std::int64_t shift = 0) {
  const Guarded out(rows * columns, y.dtype(), device, shift);
  out.inside().copy_from(g.flatten().to(device));  // overwrites the gradient
  kernels::softmax_gradient(current_stream(device), op, operand_of(placed(y, device, shift)),
                            out.operand(), out.operand(), rows, columns);
  return out.take("softmax gradient");
}

std::vector<double> plain_softmax(SoftmaxOp op, const std::vector<double>& x, std::int64_t rows,
                                  std::int64_t columns) {
  std::vector<double> out(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    double max = -kInfinity;
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) max = std::max(max, x[at(r * columns + c)]);
    for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(x[at(r * columns + c)] - max);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double d = x[at(r * columns + c)] - max;
      out[at(r * columns + c)] = op == SoftmaxOp::softmax ? std::exp(d) / sum : d - std::log(sum);
    }
  }
  return out;
}

std::vector<double> plain_softmax_gradient(SoftmaxOp op, const std::vector<double>& y,
                                           const std::vector<double>& g, std::int64_t rows,
                                           std::int64_t columns) {
  std::vector<double> out(y.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t i = r * columns; i < (r + 1) * columns; ++i) {
      sum += op == SoftmaxOp::softmax ? y[at(i)] * g[at(i)] : g[at(i)];
    }
    for (std::int64_t i = r * columns; i < (r + 1) * columns; ++i) {
      out[at(i)] = op == SoftmaxOp::softmax ? y[at(i)] * (g[at(i)] - sum)
                                            : g[at(i)] - std::exp(y[at(i)]) * sum;
    }
  }
  return out;
}

TEST(Softmax, MatchesReference) {
  Generator generator(1);
  for (DType dtype : kFloating) {
    for (std::int64_t columns : kColumns) {
      for (std::int64_t rows : kRows) {
        if (skips(rows, columns)) continue;
        const Tensor x = generator.normal({rows, columns}, 0, 3, dtype);
        const Tensor g = generator.normal({rows, columns}, 0, 1, dtype);
        for (SoftmaxOp op : {SoftmaxOp::softmax, SoftmaxOp::log_softmax}) {
          const auto what =
              fmt::format("{} {} {}x{}", to_string(op), to_string(dtype), rows, columns);
          const Tensor y = softmax_on(Device::cpu(), op, x, rows, columns);
          expect_close(y, from_doubles(plain_softmax(op, doubles(x), rows, columns), dtype), what,
                       4);
          const Tensor found = softmax_gradient_on(Device::cpu(), op, y, g, rows, columns);
          const auto want = plain_softmax_gradient(op, doubles(y), doubles(g), rows, columns);
          expect_close(found, from_doubles(want, dtype), what + " gradient", 20);
        }
      }
    }
  }
}

// Difficult rows: equal, huge, with -inf, only -inf, with NaN, with +inf.
Tensor hard_rows(std::int64_t columns, DType dtype) {
  Generator generator(2);
  const double big = dtype == DType::f16 ? 6e4 : 3e37;
  auto values = doubles(generator.normal({7, columns}));
  for (std::int64_t c = 0; c < columns; ++c) {
    values[at(c)] = 1.5;
    values[at(columns + c)] = c % 2 == 0 ? big : -big;
    if (c % 3 == 0) values[at(2 * columns + c)] = -kInfinity;
    values[at(3 * columns + c)] = -kInfinity;
  }
  values[at(4 * columns + columns / 2)] = std::nan("");
  values[at(5 * columns + columns / 2)] = kInfinity;
  values[at(6 * columns + columns - 1)] = big;
  return from_doubles(values, dtype);
}

TEST(Softmax, ExtremeRows) {
  for (DType dtype : kFloating) {
    for (std::int64_t columns : {2, 33, 1000, 20000}) {
      const Tensor x = hard_rows(columns, dtype);
      for (SoftmaxOp op : {SoftmaxOp::softmax, SoftmaxOp::log_softmax}) {
        const Tensor y = softmax_on(Device::cpu(), op, x, 7, columns);
        expect_close(y, from_doubles(plain_softmax(op, doubles(x), 7, columns), dtype),
                     fmt::format("{} {} {}", to_string(op), to_string(dtype), columns), 4);
      }
    }
  }
}

TEST(Softmax, GradientMatchesFiniteDifferences) {
  Generator generator(7);
  const Tensor x = generator.normal({3, 7}, 0, 1, DType::f64);
  const Tensor g = generator.normal({3, 7}, 0, 1, DType::f64);
  for (SoftmaxOp op : {SoftmaxOp::softmax, SoftmaxOp::log_softmax}) {
    const Tensor y = softmax_on(Device::cpu(), op, x, 3, 7);
    expect_gradient(
        [&](const auto& point) {
          return dot(doubles(softmax_on(Device::cpu(), op, from_doubles(point, DType::f64), 3, 7)),
                     doubles(g));
        },
        doubles(x), doubles(softmax_gradient_on(Device::cpu(), op, y, g, 3, 7)),
        std::string(to_string(op)));
  }
}

TEST(GpuSoftmax, MatchesCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(3);
  for (DType dtype : kFloating) {
    for (std::int64_t columns :
         {1,    2,    7,    31,   32,   33,   96,    256,   512,   513,   1000,  1024,
          1025, 1032, 4096, 5000, 8192, 8200, 16384, 16392, 20000, 32777, 70000, 130000}) {
      for (std::int64_t rows : {0, 1, 3, 100}) {
        if (rows == 100 && columns > 5000) continue;
        const Tensor x = generator.normal({rows, columns}, 0, 3, dtype);
        const Tensor g = generator.normal({rows, columns}, 0, 1, dtype);
        for (SoftmaxOp op : {SoftmaxOp::softmax, SoftmaxOp::log_softmax}) {
          for (std::int64_t shift : {0, 1}) {
            const auto what = fmt::format("{} {} {}x{} shifted by {}", to_string(op),
                                          to_string(dtype), rows, columns, shift);
            const Tensor want = softmax_on(Device::cpu(), op, x, rows, columns);
            const Tensor found = softmax_on(kGpu, op, x, rows, columns, shift);
            expect_close(found, want, what, 4);
            expect_same_bytes(softmax_on(kGpu, op, x, rows, columns, shift), found, what);
            expect_close(softmax_gradient_on(kGpu, op, want, g, rows, columns, shift),
                         softmax_gradient_on(Device::cpu(), op, want, g, rows, columns),
                         what + " gradient", 20);
          }
        }
      }
    }
  }
}

TEST(GpuSoftmax, ExtremeRows) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : kFloating) {
    for (std::int64_t columns : {2, 33, 1000, 20000, 130000}) {
      const Tensor x = hard_rows(columns, dtype);
      for (SoftmaxOp op : {SoftmaxOp::softmax, SoftmaxOp::log_softmax}) {
        expect_close(softmax_on(kGpu, op, x, 7, columns),
                     softmax_on(Device::cpu(), op, x, 7, columns),
                     fmt::format("{} {} {}", to_string(op), to_string(dtype), columns), 4);
      }
    }
  }
}

}  // namespace
}  // namespace causeway
