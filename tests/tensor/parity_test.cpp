// Every operation on a GPU against the CPU: dtypes, sizes and layouts.
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

namespace causeway {
namespace {

constexpr std::int64_t kRowCounts[] = {1, 31, 32, 33, 1003};

constexpr UnaryOp kUnary[] = {UnaryOp::negate,
                              UnaryOp::absolute,
                              UnaryOp::sign,
                              UnaryOp::square,
                              UnaryOp::relu,
                              UnaryOp::square_root,
                              UnaryOp::reciprocal_root,
                              UnaryOp::reciprocal,
                              UnaryOp::exp,
                              UnaryOp::expm1,
                              UnaryOp::log,
                              UnaryOp::log1p,
                              UnaryOp::log2,
                              UnaryOp::sin,
                              UnaryOp::cos,
                              UnaryOp::tan,
                              UnaryOp::tanh,
                              UnaryOp::erf,
                              UnaryOp::sigmoid,
                              UnaryOp::silu,
                              UnaryOp::gelu,
                              UnaryOp::gelu_tanh,
                              UnaryOp::floor,
                              UnaryOp::ceil,
                              UnaryOp::round,
                              UnaryOp::trunc};
constexpr BinaryOp kBinary[] = {BinaryOp::add,     BinaryOp::subtract, BinaryOp::multiply,
                                BinaryOp::divide,  BinaryOp::power,    BinaryOp::remainder,
                                BinaryOp::minimum, BinaryOp::maximum};
constexpr CompareOp kCompare[] = {
    CompareOp::equal,       CompareOp::not_equal,  CompareOp::less,
    CompareOp::less_equal,  CompareOp::greater,    CompareOp::greater_equal,
    CompareOp::logical_and, CompareOp::logical_or, CompareOp::logical_xor};
constexpr ReduceOp kReduce[] = {ReduceOp::sum, ReduceOp::mean,   ReduceOp::prod,  ReduceOp::min,
                                ReduceOp::max, ReduceOp::argmin, ReduceOp::argmax};

// A view of `x` on each device, taken from the same base.
struct Pair {
  Tensor cpu;
  Tensor gpu;
};

Pair on_both(const Tensor& base, const Layout& layout) {
  return {layout.view(base), layout.view(base.to(kGpu))};
}

TEST(GpuParity, Copies) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(1);
  for (DType dtype : kAllDTypes) {
    for (std::int64_t rows : kRowCounts) {
      for (std::int64_t columns : {3, 32, 68, 257}) {
        const Tensor base = draw(generator, {rows, columns}, dtype);
        for (const Layout& layout : layouts()) {
          const Pair x = on_both(base, layout);
          expect_same_bytes(
              x.gpu.clone(), x.cpu.clone(),
              fmt::format("{} {} {}x{}", layout.name, to_string(dtype), rows, columns));
        }
      }
    }
  }
}

// Fills of any length, which may end within vectors, and rows of one value each; neighbouring
// elements must not change.
TEST(GpuParity, Fills) {
  CAUSEWAY_REQUIRE_GPU();
  for (DType dtype : kAllDTypes) {
    for (std::int64_t count : {1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 1000, 1003}) {
      for (std::int64_t start : {0, 1, 8, 16}) {
        for (bool rows : {false, true}) {
          std::vector<Tensor> made;
          for (Device device : {Device::cpu(), kGpu}) {
            const Tensor around = zeros({rows ? 3 : 1, count + 40}, dtype, device);
            const Tensor value = ones({rows ? 3 : 1, 1}, dtype, device);
            around.slice(1, start, start + count).copy_from(value);
            made.push_back(around);
          }
          expect_same_bytes(made[1].to(Device::cpu()), made[0],
                            fmt::format("{} {} from {}", to_string(dtype), count, start));
        }
      }
    }
  }
}

TEST(GpuParity, Permutations) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(2);
  for (DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{5, 7, 9, 11}, Shape{8, 64, 16, 128}, Shape{2, 1, 100, 36}}) {
      const Tensor cpu = draw(generator, shape, dtype);
      const Tensor gpu = cpu.to(kGpu);
      std::vector<int> axes{0, 1, 2, 3};
      do {
        expect_same_bytes(gpu.permute(axes).contiguous(), cpu.permute(axes).contiguous(),
                          fmt::format("permutation {}{}{}{}", axes[0], axes[1], axes[2], axes[3]));
      } while (std::next_permutation(axes.begin(), axes.end()));
    }
  }
}

TEST(GpuParity, Casts) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(3);
  for (DType from : kAllDTypes) {
    const Tensor cpu = draw(generator, {1003}, from);
    for (DType to : kAllDTypes) {
      expect_same_bytes(cpu.to(kGpu).to(to), cpu.to(to),
                        fmt::format("{} to {}", to_string(from), to_string(to)));
    }
  }
}

TEST(GpuParity, UnaryOperations) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(4);
  for (DType dtype : kAllDTypes) {
    if (dtype == DType::boolean) continue;
    for (UnaryOp op : kUnary) {
      for (const Layout& layout : layouts()) {
        const Pair x = on_both(draw(generator, {33, 68}, dtype), layout);
        expect_close(unary(op, x.gpu), unary(op, x.cpu),
                     fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), layout.name),
                     4);
      }
    }
  }
}

TEST(GpuParity, UnaryAtSpecialValues) {
  CAUSEWAY_REQUIRE_GPU();
  const float inf = INFINITY;
  const std::vector<float> ends{0.0f,  -0.0f,   1e-40f, -1e-40f, 1e30f, -1e30f,
                                88.0f, -104.0f, inf,    -inf,    NAN};
  const Tensor cpu = Tensor::from<float>(ends, {static_cast<std::int64_t>(ends.size())});
  for (UnaryOp op : kUnary) {
    if (op == UnaryOp::tan || op == UnaryOp::sin || op == UnaryOp::cos) continue;  // of 1e30
    expect_close(unary(op, cpu.to(kGpu)), unary(op, cpu), std::string(kernels::to_string(op)), 4);
  }
  for (PredicateOp op : {PredicateOp::is_nan, PredicateOp::is_inf, PredicateOp::is_finite,
                         PredicateOp::logical_not}) {
    expect_same_bytes(predicate(op, cpu.to(kGpu)), predicate(op, cpu), "predicate");
  }
}

TEST(GpuParity, BinaryOperations) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(5);
  for (DType dtype : kAllDTypes) {
    for (BinaryOp op : kBinary) {
      const bool no_bool =
          op == BinaryOp::subtract || op == BinaryOp::power || op == BinaryOp::remainder;
      if (dtype == DType::boolean && no_bool) continue;
      for (const Layout& layout : layouts()) {
        const Pair x = on_both(draw(generator, {33, 68}, dtype), layout);
        Pair y = on_both(draw(generator, {33, 68}, dtype), layout);
        const auto what =
            fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), layout.name);
        expect_close(binary(op, x.gpu, y.gpu), binary(op, x.cpu, y.cpu), what, 4);
        const Pair row = {y.cpu.slice(0, 0, 1), y.gpu.slice(0, 0, 1)};
        expect_close(binary(op, x.gpu, row.gpu), binary(op, x.cpu, row.cpu), what + " row", 4);
        const Pair column = {y.cpu.slice(1, 0, 1), y.gpu.slice(1, 0, 1)};
        expect_close(binary(op, column.gpu, x.gpu), binary(op, column.cpu, x.cpu), what + " column",
                     4);
        expect_close(binary(op, x.gpu, 3), binary(op, x.cpu, 3), what + " number", 4);
        if (op != BinaryOp::power) {
          expect_close(binary(op, 3, x.gpu), binary(op, 3, x.cpu), what + " from number", 4);
        }
      }
    }
    for (std::int64_t size : {1, 2, 3, 5, 31, 32, 33, 1003, 4099}) {
      const Tensor cpu = draw(generator, {size}, dtype);
      const Tensor gpu = cpu.to(kGpu);
      expect_close(gpu * gpu, cpu * cpu, fmt::format("{} of {}", to_string(dtype), size));
    }
  }
}

TEST(GpuParity, ComparisonsAndWhere) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(6);
  for (DType dtype : kAllDTypes) {
    for (const Layout& layout : layouts()) {
      const Pair x = on_both(draw(generator, {33, 68}, dtype), layout);
      const Pair y = on_both(draw(generator, {33, 68}, dtype), layout);
      for (CompareOp op : kCompare) {
        expect_same_bytes(compare(op, x.gpu, y.gpu), compare(op, x.cpu, y.cpu), layout.name);
        expect_same_bytes(compare(op, x.gpu, 1), compare(op, x.cpu, 1), layout.name);
      }
      const Pair less = {compare(CompareOp::less, x.cpu, y.cpu),
                         compare(CompareOp::less, x.gpu, y.gpu)};
      expect_same_bytes(where(less.gpu, x.gpu, y.gpu), where(less.cpu, x.cpu, y.cpu), layout.name);
      if (dtype == DType::boolean) continue;
      expect_same_bytes(clamp(x.gpu, 0, 2), clamp(x.cpu, 0, 2), layout.name);
    }
  }
}

TEST(GpuParity, Reductions) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(7);
  const Shape shapes[] = {{1},        {31},        {100003},     {4, 1000},    {3, 5000},
                          {2000, 33}, {5000, 128}, {7, 11, 13},  {64, 300, 4}, {3, 70001},
                          {1, 1},     {257, 1},    {2, 100, 68}, {1024, 4},    {1025, 260}};
  for (DType dtype : kAllDTypes) {
    for (const Shape& shape : shapes) {
      const Tensor cpu = draw(generator, shape, dtype);
      const Tensor gpu = cpu.to(kGpu);
      std::vector<std::vector<int>> choices{{}};
      for (int axis = 0; axis < shape.size(); ++axis) choices.push_back({axis});
      if (shape.size() == 3) choices.push_back({0, 2});
      for (ReduceOp op : kReduce) {
        for (const auto& axes : choices) {
          const bool position = op == ReduceOp::argmin || op == ReduceOp::argmax;
          if (position && axes.size() != 1) continue;
          const auto what =
              fmt::format("{} {} {}", kernels::to_string(op), to_string(dtype), to_string(shape));
          // Different orders of summation differ by the rounding of partial sums.
          const double length = static_cast<double>(numel(shape));
          expect_close(reduce(op, gpu, axes), reduce(op, cpu, axes), what,
                       4 + std::sqrt(length) / 8);
          if (shape.size() == 2) {
            expect_close(reduce(op, gpu.transpose(), axes), reduce(op, cpu.transpose(), axes),
                         what + " transposed", 4 + std::sqrt(length) / 8);
          }
        }
      }
      if (!is_floating(dtype)) continue;
      for (const auto& axes : choices) {
        expect_close(variance(gpu, axes), variance(cpu, axes), "variance " + to_string(shape), 8);
      }
    }
  }
}

TEST(GpuParity, ReductionsAreDeterministic) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor x = Generator(8).normal({3000, 1111}, 0, 1, DType::f32, kGpu);
  for (const auto& axes : std::vector<std::vector<int>>{{}, {0}, {1}}) {
    const std::uint64_t first = hash_of(sum(x, axes));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(hash_of(sum(x, axes)), first);
  }
  const std::uint64_t scan = hash_of(cumulative_sum(x.flatten(), 0));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(hash_of(cumulative_sum(x.flatten(), 0)), scan);
}

TEST(GpuParity, NanInExtremesAndArgExtremes) {
  CAUSEWAY_REQUIRE_GPU();
  Tensor cpu = Generator(9).normal({5, 3000});
  cpu.select(0, 2).slice(0, 1234, 1235).copy_from(full({1}, NAN));
  const Tensor gpu = cpu.to(kGpu);
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::argmin, ReduceOp::argmax}) {
    for (int axis : {0, 1}) {
      expect_same_bytes(compare(CompareOp::equal, reduce(op, gpu, {axis}), reduce(op, gpu, {axis})),
                        compare(CompareOp::equal, reduce(op, cpu, {axis}), reduce(op, cpu, {axis})),
                        "where NaN is");
      expect_close(reduce(op, gpu, {axis}), reduce(op, cpu, {axis}), "with NaN");
    }
  }
}

TEST(GpuParity, CumulativeSums) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(10);
  for (DType dtype : {DType::f64, DType::f32, DType::i32, DType::u8, DType::boolean}) {
    for (const Shape& shape :
         {Shape{1}, Shape{4096}, Shape{4097}, Shape{1000003}, Shape{33, 9000}, Shape{3, 5, 7}}) {
      const Tensor cpu = draw(generator, shape, dtype);
      for (int axis = 0; axis < shape.size(); ++axis) {
        expect_close(cumulative_sum(cpu.to(kGpu), axis), cumulative_sum(cpu, axis),
                     to_string(shape), 400);
      }
    }
  }
}

TEST(GpuParity, Sorting) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(11);
  for (DType dtype : kAllDTypes) {
    for (const Shape& shape :
         cases<Shape>({{1}, {1003}, {7, 33}, {300, 1}, {5, 6, 7}}, {{7, 33}})) {
      const Tensor cpu = draw(generator, shape, dtype);  // few distinct values: ties abound
      for (int axis = 0; axis < shape.size(); ++axis) {
        for (bool descending : {false, true}) {
          const Sorted got = sort(cpu.to(kGpu), axis, descending);
          const Sorted want = sort(cpu, axis, descending);
          expect_same_bytes(got.values, want.values, "values " + to_string(shape));
          expect_same_bytes(got.indices, want.indices, "indices " + to_string(shape));
        }
      }
    }
  }
  const std::vector<float> odd{NAN, 1, -0.0f, 0, -INFINITY, INFINITY, -NAN, -1};
  const Tensor cpu = Tensor::from<float>(odd, {8});
  expect_same_bytes(sort(cpu.to(kGpu)).indices, sort(cpu).indices, "NaN and zeros");
  const Sorted top = topk(cpu.to(kGpu), 3);
  expect_same_bytes(top.indices, topk(cpu, 3).indices, "topk");
}

TEST(GpuParity, Indexing) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(12);
  for (DType dtype : kAllDTypes) {
    const Tensor cpu = draw(generator, {13, 20, 8}, dtype);
    const Tensor gpu = cpu.to(kGpu);
    for (int axis : {0, 1, 2}) {
      const std::int64_t size = cpu.size(axis);
      const Tensor chosen = generator.integers({37}, 0, size);
      expect_same_bytes(index_select(gpu, axis, chosen.to(kGpu)), index_select(cpu, axis, chosen),
                        "index_select");
      Shape shape = cpu.shape();
      shape[axis] = 50;  // more than the axis has: indices repeat
      const Tensor index = generator.integers(shape, 0, size, DType::i32);
      const Tensor source = draw(generator, shape, dtype);
      expect_same_bytes(gather(gpu, axis, index.to(kGpu)), gather(cpu, axis, index), "gather");
      expect_same_bytes(scatter(gpu, axis, index.to(kGpu), source.to(kGpu)),
                        scatter(cpu, axis, index, source), "scatter");
      expect_same_bytes(scatter_add(gpu, axis, index.to(kGpu), source.to(kGpu)),
                        scatter_add(cpu, axis, index, source), "scatter_add");
    }
    const Tensor pieces[] = {gpu, gpu.slice(1, 3, 9)};
    const Tensor host_pieces[] = {cpu, cpu.slice(1, 3, 9)};
    expect_same_bytes(concatenate(pieces, 1), concatenate(host_pieces, 1), "concatenate");
    const std::pair<std::int64_t, std::int64_t> widths[] = {{1, 2}, {0, 3}, {4, 0}};
    expect_same_bytes(pad(gpu, widths, 1), pad(cpu, widths, 1), "pad");
  }
}

TEST(GpuParity, RandomNumbersAreTheSameBits) {
  CAUSEWAY_REQUIRE_GPU();
  for (std::int64_t size : {1, 2, 3, 5, 1003, 1000003}) {
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      Generator cpu(42);
      Generator gpu(42);
      expect_same_bytes(gpu.uniform({size}, -3, 5, dtype, kGpu), cpu.uniform({size}, -3, 5, dtype),
                        "uniform");
      expect_same_bytes(gpu.normal({size}, 1, 2, dtype, kGpu), cpu.normal({size}, 1, 2, dtype),
                        "normal " + std::string(to_string(dtype)));
    }
    Generator cpu(43);
    Generator gpu(43);
    expect_same_bytes(gpu.integers({size}, -5, 1000, DType::i16, kGpu),
                      cpu.integers({size}, -5, 1000, DType::i16), "integers");
    expect_same_bytes(gpu.permutation(size, kGpu), cpu.permutation(size), "permutation");
  }
}

}  // namespace
}  // namespace causeway
