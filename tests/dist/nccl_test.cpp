// NCCL with one rank: reductions return the input, streams overlap, and collectives can be captured
// in a graph. More ranks need more GPUs: run dist_ranks with mpirun or torchrun.
#include "causeway/core/error.h"
#include "causeway/dist/nccl.h"
#include "causeway/runtime/graph.h"
#include "causeway/tensor/matmul.h"
#include "tests/dist/serial.h"

namespace causeway::dist {
namespace {

const Device kGpu = Device::cuda(0);

#define CAUSEWAY_REQUIRE_NCCL() \
  CAUSEWAY_REQUIRE_GPU();       \
  if (nccl_status().version.empty()) GTEST_SKIP() << nccl_status().absence

std::shared_ptr<DeviceCollectives> alone() {
  return connect_nccl(
      {kGpu, 0, 1}, [](std::string id) { return id; }, [] {});
}

TEST(GpuDist, OneRankReducesToItsInput) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  for (const DType dtype : kReduced) {
    for (const Reduction how : kAllReductions) {
      if (dtype == DType::i64 && how == Reduction::mean) continue;
      for (const std::int64_t count : {0, 1, 31, 1000003}) {
        const Tensor want = values_of(0, count, dtype);
        const Tensor x = want.to(kGpu);
        ranks->all_reduce(x, how).wait();
        expect_same_bytes(x, want, std::string(to_string(dtype)));
      }
    }
  }
  EXPECT_EQ(ranks->fault(), "");
}

TEST(GpuDist, BroadcastOfAnyDtype) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  for (const DType dtype : kAllDTypes) {
    Generator generator(3);
    const Tensor want = draw(generator, {1001}, dtype);
    const Tensor x = want.to(kGpu);
    ranks->broadcast(x, 0).wait();
    expect_same_bytes(x, want, std::string(to_string(dtype)));
  }
}

TEST(GpuDist, OneRankOwnsTheWholeTensor) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  for (const DType dtype : kReduced) {
    const Tensor want = values_of(0, 1001, dtype);
    const Tensor x = want.to(kGpu);
    ranks->reduce_scatter(x, Reduction::sum).wait();
    ranks->all_gather(x).wait();
    expect_same_bytes(x, want, std::string(to_string(dtype)));
  }
}

// The collective starts after the work that computes its tensor, and work after wait() sees the
// result.
TEST(GpuDist, OrderedWithTheCurrentStream) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  const Tensor a = full({2048, 2048}, 1.0 / 2048, DType::f32, kGpu);
  for (int turn = 0; turn < 5; ++turn) {
    Tensor x = ones({2048, 2048}, DType::f32, kGpu);
    for (int i = 0; i < 8; ++i) x = matmul(x, a);
    Pending pending = ranks->all_reduce(x, Reduction::mean);
    Tensor beside = a;
    for (int i = 0; i < 8; ++i) beside = matmul(beside, a);  // runs concurrently
    pending.wait();
    const Tensor y = x + 1.0;
    expect_close(y, full({2048, 2048}, 2), "x + 1", 100);
  }
}

TEST(GpuDist, HostDoesNotWait) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  const Tensor a = ones({8192, 8192}, DType::f32, kGpu);
  const Tensor warm = ones({1000}, DType::f32, kGpu);
  ranks->all_reduce(warm, Reduction::sum).wait();
  (void)matmul(a, a);
  synchronize(kGpu);
  Tensor x = a;
  for (int i = 0; i < 10; ++i) x = matmul(a, a);  // some hundred milliseconds
  ranks->all_reduce(x, Reduction::sum).wait();
  EXPECT_FALSE(current_stream(kGpu).done());
  synchronize(kGpu);
}

// A tensor that is destroyed before its collective has run keeps its memory.
TEST(GpuDist, TensorDestroyedBeforeWait) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  const Tensor a = ones({4096, 4096}, DType::f32, kGpu);
  {
    Tensor x = matmul(a, a);
    ranks->all_reduce(x, Reduction::sum);
  }
  const Tensor y = full({4096, 4096}, 7, DType::f32, kGpu);
  synchronize(kGpu);
  expect_same_bytes(y, full({4096, 4096}, 7), "memory in use was reallocated");
}

TEST(GpuDist, PartOfAGraph) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  const Tensor in = ones({1000}, DType::f32, kGpu);
  const Tensor out = zeros({1000}, DType::f32, kGpu);
  const Stream stream(kGpu);
  ranks->all_reduce(in.clone(), Reduction::sum).wait();  // connects before the capture
  synchronize(kGpu);
  const Graph graph = Graph::capture(stream, [&] {
    const Tensor x = in * 3.0;
    Pending pending = ranks->all_reduce(x, Reduction::mean);
    const Tensor beside = in + 1.0;
    pending.wait();
    out.copy_from(x + beside);
  });
  for (const double value : {1.0, 2.0, 5.0}) {
    in.copy_from(full({1000}, value));
    synchronize(kGpu);
    graph.replay(stream);
    synchronize(kGpu);
    expect_same_bytes(out, full({1000}, 4 * value + 1), std::to_string(value));
  }
}

TEST(GpuDist, AfterAbortEveryCallThrows) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto ranks = alone();
  ranks->abort();
  EXPECT_THROW(ranks->all_reduce(ones({4}, DType::f32, kGpu), Reduction::sum), Error);
  EXPECT_EQ(ranks->fault(), "");
}

TEST(GpuDist, FailedGroupCancelsConnect) {
  CAUSEWAY_REQUIRE_NCCL();
  const auto lost = [] { fail(ErrorKind::distributed, "group", "rank 1 is lost"); };
  EXPECT_THROW(connect_nccl(
                   {kGpu, 0, 2}, [](std::string id) { return id; }, lost),
               Error);
}

}  // namespace
}  // namespace causeway::dist
