// Layer and RMS norm against plain f64 loops on the CPU, against finite differences, and the GPU
// against the CPU.
#include "causeway/kernels/norm/norm.h"

#include "causeway/autograd/normalize.h"
#include "tests/kernels/guarded.h"

#include <fmt/format.h>

#include <cmath>

namespace causeway {
namespace {

using kernels::Norm;
using kernels::NormOp;
using kernels::Operand;

struct NormInputs {
  Norm how;
  Tensor in, residual, weight, bias;  // optional operands without elements
  Tensor gradient, sum_gradient;
  std::int64_t shift = 0;
};

struct NormResults {
  Tensor sum, out, mean, rstd;
  Tensor x_gradient, weight_gradient, bias_gradient;
};

NormInputs norm_inputs(Generator& generator, NormOp op, std::int64_t rows, std::int64_t columns,
                       DType dtype, int parts) {
  NormInputs inputs;
  inputs.how = {op, rows, columns, 1e-5};
  inputs.in = generator.normal({rows, columns}, 0.5, 2, dtype);
  inputs.gradient = generator.normal({rows, columns}, 0, 1, dtype);
  if ((parts & 1) != 0) inputs.residual = generator.normal({rows, columns}, 0, 1, dtype);
  if ((parts & 2) != 0) inputs.weight = generator.normal({columns}, 1, 0.5, dtype);
  if ((parts & 4) != 0) inputs.bias = generator.normal({columns}, 0, 1, dtype);
  if ((parts & 8) != 0) inputs.sum_gradient = generator.normal({rows, columns}, 0, 1, dtype);
  return inputs;
}

NormResults norm_on(Device device, const NormInputs& inputs) {
  const Norm& how = inputs.how;
  const DType dtype = inputs.in.dtype();
  const DType statistics = statistics_of(dtype);
  const std::int64_t count = how.n_rows * how.n_columns;
  const std::int64_t shift = inputs.shift;
  const StreamView stream = current_stream(device);
  const Placed in(inputs.in, device, shift), residual(inputs.residual, device, shift);
  const Placed weight(inputs.weight, device, shift), bias(inputs.bias, device, shift);
  const Placed gradient(inputs.gradient, device, shift);
  const Placed sum_gradient(inputs.sum_gradient, device, shift);
  const bool sums = inputs.residual.numel() > 0;
  const bool centred = how.op == NormOp::layer;
  const Guarded sum(count, dtype, device, shift), out(count, dtype, device, shift);
  const Guarded mean(how.n_rows, statistics, device), rstd(how.n_rows, statistics, device);
  kernels::norm(stream, how, in.operand(), residual.operand(), weight.operand(), bias.operand(),
                sums ? sum.operand() : Operand{}, out.operand(),
                centred ? mean.operand() : Operand{}, rstd.operand());
  const Guarded x_gradient(count, dtype, device, shift);
  const Guarded weight_gradient(how.n_columns, dtype, device, shift);
  const Guarded bias_gradient(how.n_columns, dtype, device, shift);
  const bool weighs = inputs.weight.numel() > 0;
  const bool biased = inputs.bias.numel() > 0;
  kernels::norm_gradient(stream, how, sums ? sum.operand() : in.operand(), weight.operand(),
                         centred ? mean.operand() : Operand{}, rstd.operand(), gradient.operand(),
                         sum_gradient.operand(), x_gradient.operand(),
                         weighs ? weight_gradient.operand() : Operand{},
                         biased ? bias_gradient.operand() : Operand{});
  return {sum.take("sum"),
          out.take("out"),
          mean.take("mean"),
          rstd.take("rstd"),
          x_gradient.take("x gradient"),
          weight_gradient.take("weight gradient"),
          bias_gradient.take("bias gradient")};
}

void expect_norms_close(const NormResults& found, const NormResults& want, const std::string& what,
                        double scale) {
  expect_close(found.sum, want.sum, what + " sum", 1);
  expect_close(found.out, want.out, what + " out", scale);
  expect_close(found.mean, want.mean, what + " mean", scale);
  expect_close(found.rstd, want.rstd, what + " rstd", scale);
  expect_close(found.x_gradient, want.x_gradient, what + " x gradient", scale);
  expect_close(found.weight_gradient, want.weight_gradient, what + " weight gradient", 5 * scale);
  expect_close(found.bias_gradient, want.bias_gradient, what + " bias gradient", 5 * scale);
}

// In f64 throughout, except x, which is rounded as in the kernels.
NormResults plain_norm(const NormInputs& inputs) {
  const Norm& how = inputs.how;
  const std::int64_t n = how.n_columns;
  const std::int64_t count = how.n_rows * n;
  const DType dtype = inputs.in.dtype();
  const bool centred = how.op == NormOp::layer;
  auto x = doubles(inputs.in);
  const auto residual = given_or(inputs.residual, count, 0);
  for (std::int64_t i = 0; i < count; ++i) x[at(i)] += residual[at(i)];
  const Tensor sum = from_doubles(x, dtype);
  x = doubles(sum);
  const auto w = given_or(inputs.weight, n, 1);
  const auto b = given_or(inputs.bias, n, 0);
  const auto g = doubles(inputs.gradient);
  const auto more = given_or(inputs.sum_gradient, count, 0);
  std::vector<double> out(at(count)), dx(at(count)), mean(at(how.n_rows)), rstd(at(how.n_rows));
  std::vector<double> dw(at(n), 0.0), db(at(n), 0.0);
  for (std::int64_t r = 0; r < how.n_rows; ++r) {
    double m = 0, v = 0, flat = 0, along = 0;
    for (std::int64_t c = 0; c < n; ++c) m += centred ? x[at(r * n + c)] / double(n) : 0;
    for (std::int64_t c = 0; c < n; ++c) v += std::pow(x[at(r * n + c)] - m, 2) / double(n);
    const double s = 1 / std::sqrt(v + how.epsilon);
    for (std::int64_t c = 0; c < n; ++c) {
      const std::int64_t i = r * n + c;
      const double normal = (x[at(i)] - m) * s;
      out[at(i)] = normal * w[at(c)] + b[at(c)];
      flat += centred ? g[at(i)] * w[at(c)] / double(n) : 0;
      along += g[at(i)] * w[at(c)] * normal / double(n);
      dw[at(c)] += g[at(i)] * normal;
      db[at(c)] += g[at(i)];
    }
    for (std::int64_t c = 0; c < n; ++c) {
      const std::int64_t i = r * n + c;
      const double normal = (x[at(i)] - m) * s;
      dx[at(i)] = s * (g[at(i)] * w[at(c)] - flat - normal * along) + more[at(i)];
    }
    mean[at(r)] = m;
    rstd[at(r)] = s;
  }
  const Tensor mark = full({how.n_columns}, 77.0, dtype);  // unrequested outputs must not change
  const DType statistics = statistics_of(dtype);
  return {inputs.residual.numel() > 0 ? sum : full({count}, 77.0, dtype),
          from_doubles(out, dtype),
          centred ? from_doubles(mean, statistics) : full({how.n_rows}, 77.0, statistics),
          from_doubles(rstd, statistics),
          from_doubles(dx, dtype),
          inputs.weight.numel() > 0 ? from_doubles(dw, dtype) : mark,
          inputs.bias.numel() > 0 ? from_doubles(db, dtype) : mark};
}

TEST(Norm, MatchesReference) {
  Generator generator(4);
  for (DType dtype : kFloating) {
    for (std::int64_t columns : kColumns) {
      for (std::int64_t rows : kRows) {
        if (skips(rows, columns)) continue;
        for (NormOp op : {NormOp::layer, NormOp::rms}) {
          for (int parts : {0, 6, 15}) {
            const auto inputs = norm_inputs(generator, op, rows, columns, dtype, parts);
            expect_norms_close(norm_on(Device::cpu(), inputs), plain_norm(inputs),
                               fmt::format("{} {} {}x{} parts {}", to_string(op), to_string(dtype),
                                           rows, columns, parts),
                               10);
          }
        }
      }
    }
  }
}

TEST(Norm, AccurateWithALargeMean) {
  Generator generator(5);
  NormInputs inputs = norm_inputs(generator, NormOp::layer, 3, 4096, DType::f32, 0);
  inputs.in = generator.normal({3, 4096}, 1000, 1, DType::f32);
  expect_close(norm_on(Device::cpu(), inputs).rstd, plain_norm(inputs).rstd, "rstd", 40);
}

TEST(Norm, GradientMatchesFiniteDifferences) {
  Generator generator(6);
  for (NormOp op : {NormOp::layer, NormOp::rms}) {
    const auto inputs = norm_inputs(generator, op, 3, 7, DType::f64, 6);
    const NormResults results = norm_on(Device::cpu(), inputs);
    const auto value = [&](const Tensor NormInputs::*member, const std::vector<double>& point) {
      NormInputs moved = inputs;
      moved.*const_cast<Tensor NormInputs::*>(member) = from_doubles(point, DType::f64);
      return dot(doubles(norm_on(Device::cpu(), moved).out), doubles(inputs.gradient));
    };
    const auto by = [&](Tensor NormInputs::*member, const Tensor& gradient, const char* what) {
      expect_gradient([&](const auto& point) { return value(member, point); },
                      doubles(inputs.*member), doubles(gradient), what);
    };
    by(&NormInputs::in, results.x_gradient, "x");
    by(&NormInputs::weight, results.weight_gradient, "weight");
    by(&NormInputs::bias, results.bias_gradient, "bias");
  }
}

TEST(GpuNorm, MatchesCpu) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(8);
  constexpr struct {
    int parts;
    std::int64_t shift;
  } kKinds[] = {{0, 0}, {2, 0}, {6, 0}, {9, 0}, {15, 0}, {15, 1}};
  const auto compare = [&](NormOp op, std::int64_t rows, std::int64_t columns, DType dtype,
                           int parts, std::int64_t shift) {
    auto inputs = norm_inputs(generator, op, rows, columns, dtype, parts);
    inputs.shift = shift;
    const auto what = fmt::format("{} {} {}x{} parts {} shifted by {}", to_string(op),
                                  to_string(dtype), rows, columns, parts, shift);
    const NormResults found = norm_on(kGpu, inputs);
    expect_norms_close(found, norm_on(Device::cpu(), inputs), what, 10);
    const NormResults again = norm_on(kGpu, inputs);
    expect_same_bytes(again.out, found.out, what);
    expect_same_bytes(again.x_gradient, found.x_gradient, what);
    expect_same_bytes(again.weight_gradient, found.weight_gradient, what);
    expect_same_bytes(again.bias_gradient, found.bias_gradient, what);
  };
  for (DType dtype : kFloating) {
    for (std::int64_t columns : cases<std::int64_t>(
             {1,    2,    7,    31,   32,   33,   96,   192,  256,   384,   768,   1000,
              1024, 1025, 3072, 4096, 5000, 6144, 8192, 8200, 12288, 12296, 20000, 65536},
             {33, 192, 1024, 5000, 20000})) {
      for (std::int64_t rows : cases<std::int64_t>({0, 1, 3, 100, 3000}, {3})) {
        if (rows * columns > 200'000) continue;
        for (NormOp op : {NormOp::layer, NormOp::rms}) {
          for (const auto& kind : kKinds) {
            compare(op, rows, columns, dtype, kind.parts, kind.shift);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(GpuNorm, SumsOverManyRows) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(9);
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (std::int64_t columns : {96, 256}) {
      const auto inputs = norm_inputs(generator, NormOp::layer, 50001, columns, dtype, 6);
      expect_norms_close(norm_on(kGpu, inputs), norm_on(Device::cpu(), inputs),
                         fmt::format("{} {}", to_string(dtype), columns), 50);
    }
  }
}

// Norms of few rows start while the kernel before them ends: here one that writes 100 MB, of which
// they read the last rows. The kernel after them overwrites the rows.
TEST(GpuNorm, WaitsForTheKernelBefore) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(10);
  constexpr int kRounds = 20;
  constexpr std::int64_t kRows = 8;
  struct Operands {
    Tensor residual, weight, bias;
    autograd::AddNorm norm_of(const Tensor& rows) const {
      return autograd::add_norm(NormOp::layer, rows, residual, weight, bias);
    }
  };
  for (const std::int64_t columns : {768, 1024, 20000}) {
    const Tensor x = generator.normal({kRows, columns});
    const Operands here{generator.normal({kRows, columns}), generator.normal({columns}),
                        generator.normal({columns})};
    const Operands there{here.residual.to(kGpu), here.weight.to(kGpu), here.bias.to(kGpu)};
    const Tensor source = x.to(kGpu).unsqueeze(0).expand({25'000'000 / x.numel(), kRows, columns});
    const Tensor written = zeros(source.shape(), DType::f32, kGpu);
    const Tensor zero = zeros({1}, DType::f32, kGpu);
    const Tensor last = written.select(0, written.size(0) - 1);
    std::vector<autograd::AddNorm> found;
    for (int i = 0; i < kRounds; ++i) {
      written.copy_from(source);
      found.push_back(there.norm_of(last));
      written.copy_from(zero);
    }
    const autograd::AddNorm want = here.norm_of(x);
    for (const autograd::AddNorm& one : found) {
      expect_close(one.sum, want.sum, fmt::format("sum of {} columns", columns));
      expect_close(one.normed, want.normed, fmt::format("norm of {} columns", columns), 10);
    }
  }
}

}  // namespace
}  // namespace causeway
