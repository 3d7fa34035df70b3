// The runtime on a real device: streams, events, graphs, memory, transfers, faults, the profiler.
#include "causeway/core/error.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/profiler.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/reduce.h"
#include "tests/tensor/devices.h"

#include <nlohmann/json.hpp>

namespace causeway {
namespace {

TEST(GpuRuntime, Describe) {
  CAUSEWAY_REQUIRE_GPU();
  const DeviceInfo info = describe(kGpu);
  EXPECT_GE(info.capability_major, 7);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.clock_mhz, 0);
  EXPECT_GT(info.l2_bytes, 0u);
  EXPECT_GT(info.peak_bandwidth, 1e11);
  EXPECT_GE(info.memory_total, info.memory_free);
}

TEST(GpuRuntime, TransfersOfEverySize) {
  CAUSEWAY_REQUIRE_GPU();
  Generator generator(1);
  for (std::int64_t bytes : {1, 4095, 8 << 20, (8 << 20) + 1, (24 << 20) + 7, 100000001}) {
    const Tensor x = generator.integers({bytes}, 0, 256, DType::u8);
    expect_same_bytes(x.to(kGpu).to(Device::cpu()), x, std::to_string(bytes));
  }
}

TEST(GpuRuntime, HostMemoryMayChangeAfterAnUpload) {
  CAUSEWAY_REQUIRE_GPU();
  std::vector<float> values(20 << 20, 1.0f);
  const Tensor x = Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())}, kGpu);
  std::fill(values.begin(), values.end(), 2.0f);
  EXPECT_EQ(sum(x).item(), 20 << 20);
}

TEST(GpuRuntime, MemoryUsedOnAnotherStreamIsNotReusedEarly) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream side(kGpu);
  const std::int64_t n = few_cases() ? 512 : 4096;
  const Tensor a = ones({n, n}, DType::f32, kGpu);
  synchronize(kGpu);
  Tensor result;
  {
    Tensor temporary = ones({n, n}, DType::f32, kGpu);
    synchronize(kGpu);
    const StreamGuard guard(side);
    Tensor slow = a;
    for (int i = 0; i < 5; ++i) slow = matmul(a, a);  // keeps the side stream busy
    result = temporary + slow * 0.0;                  // reads `temporary` late
  }
  // Its memory must not be reused on the main stream while the side stream still reads it.
  for (int i = 0; i < 10; ++i) (void)full({n, n}, 7, DType::f32, kGpu);
  side.view().synchronize();
  EXPECT_EQ(sum(result).item(), static_cast<double>(n * n));
}

TEST(GpuRuntime, EventsOrderStreamsAndMeasure) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream side(kGpu);
  Event start(kGpu, true);
  Event end(kGpu, true);
  Tensor x = zeros({1 << 24}, DType::f32, kGpu);
  start.record(current_stream(kGpu));
  for (int i = 0; i < 20; ++i) x = x + 1;
  end.record(current_stream(kGpu));
  {
    side.view().wait(end);
    const StreamGuard guard(side);
    EXPECT_EQ(max(x).item(), 20);
  }
  EXPECT_GT(Event::milliseconds(start, end), 0);
}

TEST(GpuRuntime, GraphsReplayCapturedWork) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream stream(kGpu);
  Generator generator(2);
  const Tensor x = generator.normal({64, 128}, 0, 1, DType::f32, kGpu);
  const Tensor w = generator.normal({128, 32}, 0, 1, DType::f32, kGpu);
  const auto work = [&] { return sum(gelu(matmul(x, w)) * 2.0, {1}); };
  Tensor eager;
  {
    const StreamGuard guard(stream);
    synchronize(kGpu);
    eager = work();
    stream.view().synchronize();
  }
  Tensor out;
  const Graph graph = Graph::capture(stream, [&] { out = work(); });
  graph.replay(stream);
  stream.view().synchronize();
  expect_same_bytes(out, eager, "first replay");
  x.copy_from(generator.normal({64, 128}, 0, 1, DType::f32, kGpu));
  synchronize(kGpu);
  const std::uint64_t allocations = pool_of(kGpu).stats().allocations;
  for (int i = 0; i < 3; ++i) graph.replay(stream);
  stream.view().synchronize();
  EXPECT_EQ(pool_of(kGpu).stats().allocations, allocations);
  expect_same_bytes(out, work(), "new input");
}

// What outlived a graph is freed while another graph is captured: its memory is released
// afterwards.
TEST(GpuRuntime, GraphMemoryIsReleasedAfterTheNextCapture) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream own(kGpu);
  const StreamView stream = own.view();
  constexpr std::int64_t kSize = 1 << 20;
  Tensor out;
  {
    const Graph first = Graph::capture(stream, [&] { out = ones({kSize}, DType::f32, kGpu); });
  }
  const Graph second = Graph::capture(stream, [&] { out = full({kSize}, 2, DType::f32, kGpu); });
  second.replay(stream);
  stream.synchronize();
  EXPECT_EQ(sum(out).item(), 2.0 * kSize);
}

TEST(GpuRuntime, GraphsRefuseCopiesFromTheHost) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream own(kGpu);
  const std::vector<float> values = {1, 2, 3};
  EXPECT_THROW(Graph::capture(own.view(), [&] { (void)Tensor::from<float>(values, {3}, kGpu); }),
               Error);
  Tensor counted;
  const Graph graph =
      Graph::capture(own.view(), [&] { counted = arange(5, 50, 3, DType::f32, kGpu); });
  graph.replay(own.view());
  own.view().synchronize();
  expect_same_bytes(counted, arange(5, 50, 3, DType::f32), "arange");
  for (const Scalar step : {Scalar(0.3), Scalar(-7), Scalar(1e-9)}) {
    const Scalar stop(step.real * 1000.5);
    expect_same_bytes(arange(0.1, stop, step, DType::f64, kGpu),
                      arange(0.1, stop, step, DType::f64), "arange with a step");
  }
}

TEST(GpuRuntime, GraphsCanShareMemory) {
  CAUSEWAY_REQUIRE_GPU();
  const Device device = Device::cuda(0);
  const Stream stream(device);
  Pool& pool = pool_of(device);
  const Tensor in = full({1 << 24}, 1.0, DType::f32, device);
  const Tensor out = zeros({1 << 24}, DType::f32, device);
  const auto work = [&](double factor) {
    return [&, factor] { out.copy_from((in * Scalar(factor)) + Scalar(1.0)); };
  };
  synchronize(device);
  const auto held = [&] {
    const MemoryStats stats = pool.stats();
    return stats.current + stats.cached;
  };
  const auto memory = std::make_shared<const GraphMemory>(device);
  {
    const StreamGuard guard(stream);
    memory->use(stream, work(3));  // the same work before capture
  }
  stream.view().synchronize();
  EXPECT_EQ(out.select(0, 1).item(), 4);
  const std::size_t with_one = held();
  const Graph first = Graph::capture(stream, work(2), memory);
  const Graph second = Graph::capture(stream, work(5), memory);
  EXPECT_EQ(held(), with_one);
  for (int i = 0; i < 3; ++i) {
    first.replay(stream);
    stream.view().synchronize();
    EXPECT_EQ(out.select(0, 77).item(), 3);
    second.replay(stream);
    stream.view().synchronize();
    EXPECT_EQ(out.select(0, (1 << 24) - 1).item(), 6);
  }
}

TEST(GpuRuntime, CountersAreSeparatePerStream) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor tall = Generator(5).normal({9000, 516}, 0, 1, DType::f32, kGpu);
  const Tensor long_row = Generator(6).normal({2, 1500003}, 0, 1, DType::f32, kGpu);
  const auto work = [&] {
    return std::vector<Tensor>{sum(tall, {0}), argmax(tall, 0), sum(long_row, {1}), max(tall),
                               variance(tall, {0})};
  };
  const std::vector<Tensor> want = work();
  synchronize(kGpu);
  const Stream first(kGpu);
  const Stream second(kGpu);
  const Stream third(kGpu);
  std::vector<Tensor> recorded;
  const Graph graph = Graph::capture(third, [&] { recorded = work(); });
  const Graph other = Graph::capture(first, [&] { (void)work(); });
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<Tensor>> got;
    graph.replay(third);
    for (const Stream* stream : {&first, &second}) {
      const StreamGuard guard(*stream);
      got.push_back(work());
    }
    other.replay(second);  // was captured on `first`, which is busy
    synchronize(kGpu);
    got.push_back(recorded);
    for (const auto& results : got) {
      for (std::size_t i = 0; i < want.size(); ++i) {
        expect_same_bytes(results[i], want[i], "round " + std::to_string(round));
      }
    }
  }
}

TEST(GpuRuntime, AFailedCaptureLeavesTheStreamUsable) {
  CAUSEWAY_REQUIRE_GPU();
  const Stream stream(kGpu);
  EXPECT_THROW(Graph::capture(stream, [] { fail(ErrorKind::internal, "test", "stop"); }), Error);
  const StreamGuard guard(stream);
  EXPECT_EQ(sum(ones({1000}, DType::f32, kGpu)).item(), 1000);
}

TEST(GpuRuntime, IndicesOutOfRangeThrowAndTheDeviceStaysUsable) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor x = ones({5, 4}, DType::f32, kGpu);
  const Tensor bad = full({3}, 7, DType::i64, kGpu);
  for (int i = 0; i < 2; ++i) {
    try {
      (void)index_select(x, 0, bad).to(Device::cpu());
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "[index_select] index 7 is out of range for axis 0 of size 5; expected 0 to 4");
    }
  }
  const Tensor negative = full({5, 1}, -1, DType::i64, kGpu);
  EXPECT_THROW(gather(x, 1, negative).to(Device::cpu()), Error);
  EXPECT_THROW(scatter(x, 1, negative, x.slice(1, 0, 1)).to(Device::cpu()), Error);
  EXPECT_THROW(scatter_add(x, 1, negative, x.slice(1, 0, 1)).to(Device::cpu()), Error);
  EXPECT_EQ(sum(x).item(), 20);
}

TEST(GpuRuntime, OutOfMemoryRecoversAndExplains) {
  CAUSEWAY_REQUIRE_GPU();
  Pool& pool = pool_of(kGpu);
  pool.release_cached();
  const DeviceInfo info = describe(kGpu);
  const auto half = static_cast<std::int64_t>(info.memory_free / 8 * 5);
  const Stream other(kGpu);
  {
    const StreamGuard guard(other);
    const Tensor large = Tensor::empty({half}, DType::u8, kGpu);
  }
  // Larger than the memory that is left: the pool releases what it keeps for the other stream.
  { const Tensor larger = Tensor::empty({half + (half / 4)}, DType::u8, kGpu); }
  EXPECT_GE(pool.stats().recoveries, 1u);
  try {
    const Tensor impossible = Tensor::empty({std::int64_t{1} << 46}, DType::u8, kGpu);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("cuda:0 is out of memory"), std::string::npos);
  }
  EXPECT_EQ(sum(ones({1000}, DType::f32, kGpu)).item(), 1000);
  pool.release_cached();
  EXPECT_LE(pool.stats().cached, std::size_t{64} << 20);
}

TEST(GpuRuntime, GuardsDetectOutOfBoundsWrites) {
  CAUSEWAY_REQUIRE_GPU();
  Pool& pool = pool_of(kGpu);
  pool.set_guarded(true);
  const std::uint64_t before = pool.stats().corrupted;
  for (std::int64_t size : {1, 33, 1003}) {
    Generator generator(3);
    const Tensor x = generator.normal({size, 7}, 0, 1, DType::f32, kGpu);
    (void)(x + x);
    (void)sum(x, {0});
    (void)x.transpose().clone();
    (void)cumulative_sum(x, 0);
    (void)x.to(DType::bf16);
    synchronize(kGpu);
  }
  EXPECT_EQ(pool.stats().corrupted, before);
  {
    const Tensor x = zeros({100}, DType::f32, kGpu);
    const Tensor beyond = Tensor::wrap(x.data() + 400, {4}, {1}, DType::f32, kGpu, nullptr);
    beyond.copy_from(ones({4}, DType::f32, kGpu));
  }
  EXPECT_EQ(pool.stats().corrupted, before + 1);
  pool.set_guarded(false);
}

TEST(GpuRuntime, ProfilerTimesKernelsAndTransfers) {
  CAUSEWAY_REQUIRE_GPU();
  const Tensor x = ones({1 << 26}, DType::f32, kGpu);
  const Tensor y = ones({1 << 26}, DType::f32, kGpu);
  (void)(x + y);
  synchronize(kGpu);
  profiler::start();
  for (int i = 0; i < 5; ++i) (void)(x + y);
  (void)x.slice(0, 0, 1 << 20).to(Device::cpu());
  profiler::stop();
  bool found = false;
  for (const auto& entry : profiler::report()) {
    if (entry.name != "binary.add") continue;
    found = true;
    EXPECT_EQ(entry.count, 5u);
    EXPECT_GT(entry.share_of_peak, 0.2);
    EXPECT_LT(entry.share_of_peak, 1.05);
  }
  EXPECT_TRUE(found);
  const auto trace = nlohmann::json::parse(profiler::trace_json());
  EXPECT_GE(trace["traceEvents"].size(), 6u);
}

TEST(GpuRuntime, LaunchErrorsNameKernelAndSourceLocation) {
  CAUSEWAY_REQUIRE_GPU();
  // A grid of 2^31 blocks exceeds the limit.
  try {
    const Tensor x = Tensor::wrap(nullptr, {std::int64_t{1} << 44}, {1}, DType::u8, kGpu, nullptr);
    kernels::fill(current_stream(kGpu), 0.0,
                  {nullptr, DType::u8, {std::int64_t{1} << 44}, {1}, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("[fill]"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("cast.cu"), std::string::npos) << error.what();
  }
}

TEST(GpuRuntime, GraphMemoryOfGrowingStepsMerges) {
  CAUSEWAY_REQUIRE_GPU();
  Pool& pool = pool_of(kGpu);
  const std::size_t before = pool.stats().captured;
  const Stream stream(kGpu);
  const GraphMemory memory(kGpu);
  for (std::int64_t step = 0; step < 20; ++step) {
    memory.use(stream, [&] {
      const StreamGuard guard(stream);
      std::vector<Tensor> blocks;
      for (std::int64_t i = 0; i < 6; ++i) {
        const std::int64_t bytes = ((11 + i) << 20) + step * 70'000;
        blocks.push_back(full({bytes}, i, DType::u8, kGpu));
      }
      for (std::int64_t i = 0; i < 6; ++i) {
        const Tensor& block = blocks[static_cast<std::size_t>(i)];
        EXPECT_EQ(sum(block.slice(0, block.size(0) - 8).to(DType::f32)).item(), 8 * i);
      }
    });
  }
  // 81 MiB and 1.4 MiB more for each block; exact-size segments would be several times that.
  EXPECT_LE(pool.stats().captured - before, std::size_t{100} << 20);
}

TEST(GpuRuntime, FreePagesServeOtherStreams) {
  CAUSEWAY_REQUIRE_GPU();
  Pool& pool = pool_of(kGpu);
  pool.release_cached();
  const LimitScope limit(pool, pool.stats().current + pool.stats().cached + (300 << 20));
  const Stream other(kGpu);
  for (int round = 0; round < 3; ++round) {
    {
      const Tensor here = full({200 << 20}, round, DType::u8, kGpu);
      EXPECT_EQ(sum(here.slice(0, (200 << 20) - 8).to(DType::f32)).item(), 8 * round);
    }
    const StreamGuard guard(other);
    const Tensor there = full({250 << 20}, round + 1, DType::u8, kGpu);
    EXPECT_EQ(sum(there.slice(0, (250 << 20) - 8).to(DType::f32)).item(), 8 * (round + 1));
  }
  EXPECT_GE(pool.stats().recoveries, 1u);
}

}  // namespace
}  // namespace causeway
