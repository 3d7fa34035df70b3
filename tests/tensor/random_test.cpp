// Random tensors: golden hashes that must not change with device, thread count or version, and the
// distributions.
#include "causeway/runtime/threads.h"
#include "causeway/tensor/reduce.h"
#include "causeway/tensor/sort.h"
#include "tests/tensor/devices.h"

namespace causeway {
namespace {

std::vector<std::uint64_t> golden(Device device) {
  Generator generator(20261115);
  return {
      hash_of(generator.uniform({1001}, 0, 1, DType::f32, device)),
      hash_of(generator.uniform({1001}, -2, 3, DType::f64, device)),
      hash_of(generator.normal({1001}, 0, 1, DType::f32, device)),
      hash_of(generator.normal({1001}, 5, 2, DType::f64, device)),
      hash_of(generator.normal({1001}, 0, 1, DType::bf16, device)),
      hash_of(generator.integers({1001}, -100, 1000, DType::i32, device)),
      hash_of(generator.permutation(1001, device)),
  };
}

const std::vector<std::uint64_t> kGolden = {
    13551392481220800373ull, 2697245857942114704ull, 5419452342637804656ull,
    794349733299230484ull,   9454641971146797294ull, 12221029080470928619ull,
    17312593525160767804ull,
};

TEST(Random, GoldenHashes) { EXPECT_EQ(golden(Device::cpu()), kGolden); }

TEST(GpuRandom, GoldenHashes) {
  CAUSEWAY_REQUIRE_GPU();
  EXPECT_EQ(golden(Device::cuda()), kGolden);
}

TEST(Random, ResultsDoNotDependOnThreads) {
  set_thread_count(1);
  const Tensor one = Generator(9).normal({100001});
  set_thread_count(2);
  expect_same_bytes(Generator(9).normal({100001}), one, "two threads");
}

TEST(Random, SeeksToACall) {
  Generator walked(5);
  (void)walked.uniform({1000});
  (void)walked.permutation(17);
  const Tensor third = walked.normal({10});
  Generator jumped(5);
  jumped.seek(2);
  expect_same_bytes(jumped.normal({10}), third, "third call");
}

TEST(Random, MomentsAndRange) {
  Generator generator(1);
  const std::int64_t n = 1000000;
  const Tensor uniform = generator.uniform({n}, -1, 3);
  EXPECT_NEAR(mean(uniform).item(), 1, 0.005);
  EXPECT_NEAR(variance(uniform).item(), 16.0 / 12, 0.01);
  EXPECT_GE(min(uniform).item(), -1);
  EXPECT_LT(max(uniform).item(), 3);
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor normal = generator.normal({n}, 0, 1, dtype);
    EXPECT_NEAR(mean(normal).item(), 0, 0.005);
    EXPECT_NEAR(variance(normal).item(), 1, 0.01);
    const Tensor cubes = normal * normal * normal;
    EXPECT_NEAR(mean(cubes).item(), 0, 0.02);
    EXPECT_NEAR(mean(cubes * normal).item(), 3, 0.05);
    // 5% lie beyond 1.96.
    const Tensor beyond = compare(CompareOp::greater, unary(UnaryOp::absolute, normal), 1.959964);
    EXPECT_NEAR(mean(beyond).item(), 0.05, 0.001);
  }
  const Tensor integers = generator.integers({n}, -2, 5);
  for (int value = -2; value < 5; ++value) {
    EXPECT_NEAR(mean(compare(CompareOp::equal, integers, value)).item(), 1.0 / 7, 0.002);
  }
}

TEST(Random, PermutationContainsEveryNumberOnce) {
  for (std::int64_t n : {0, 1, 31, 1003}) {
    const Tensor order = Generator(3).permutation(n);
    expect_same_bytes(sort(order).values, arange(0, n, 1, DType::i64), "permutation");
  }
}

}  // namespace
}  // namespace causeway
