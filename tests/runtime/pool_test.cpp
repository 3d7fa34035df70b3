// The pool with a test upstream that counts allocations, runs out of memory, and has streams whose
// work ends on request.
#include "causeway/core/error.h"
#include "causeway/runtime/heap.h"
#include "causeway/runtime/pool.h"

#include "tests/runtime/source_upstream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

namespace causeway {
namespace {

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() : pool("test", std::make_unique<SourceUpstream>(source)) { pool.set_guarded(false); }
  Source source;
  Pool pool;
};

TEST_F(PoolTest, ReusesImmediatelyOnTheSameStream) {
  std::byte* first = nullptr;
  {
    const Buffer buffer = pool.allocate(1000, stream(1));
    first = buffer.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 512, 0u);
  }
  const Buffer again = pool.allocate(900, stream(1));
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(pool.stats().upstream_allocations, 1u);
}

TEST_F(PoolTest, OtherStreamsHaveTheirOwnMemory) {
  std::byte* first = pool.allocate(1000, stream(1)).data();
  const Buffer other = pool.allocate(1000, stream(2));
  EXPECT_NE(other.data(), first);
}

TEST_F(PoolTest, ZeroBytesHoldNothing) {
  const Buffer buffer = pool.allocate(0, stream(1));
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(pool.stats().allocations, 0u);
}

TEST_F(PoolTest, ABlockUsedOnAnotherStreamWaitsForIt) {
  source.busy[stream(2).handle()] = true;
  std::byte* data = nullptr;
  {
    Buffer buffer = pool.allocate(4 * kMiB, stream(1));
    data = buffer.data();
    buffer.used_on(stream(2));
    buffer.used_on(stream(2));
  }
  const Buffer meanwhile = pool.allocate(30 * kMiB, stream(1));  // too large for the first segment
  EXPECT_NE(meanwhile.data(), data);
  source.busy[stream(2).handle()] = false;
  const Buffer after = pool.allocate(31 * kMiB, stream(1));
  EXPECT_EQ(after.data(), data);
}

TEST_F(PoolTest, StatisticsByName) {
  const MemoryScope outer("weights");
  const Buffer a = pool.allocate(1024, stream(1));
  {
    const MemoryScope inner("activations");
    const Buffer b = pool.allocate(2048, stream(1));
    EXPECT_EQ(pool.stats().by_name["activations"].current, 2048u);
  }
  const MemoryStats stats = pool.stats();
  EXPECT_EQ(stats.by_name.at("weights").current, 1024u);
  EXPECT_EQ(stats.by_name.at("activations").current, 0u);
  EXPECT_EQ(stats.by_name.at("activations").peak, 2048u);
  EXPECT_EQ(stats.current, 1024u);
  EXPECT_EQ(stats.peak, 3072u);
  EXPECT_EQ(stats.allocations, 2u);
  EXPECT_EQ(stats.frees, 1u);
  EXPECT_EQ(stats.cached, 2 * kMiB - 1024);
  pool.reset_peak();
  EXPECT_EQ(pool.stats().peak, 1024u);
}

TEST_F(PoolTest, RecoversByReleasingCachedMemory) {
  source.room = 100 * kMiB;
  { const Buffer large = pool.allocate(60 * kMiB, stream(1)); }
  const Buffer other = pool.allocate(80 * kMiB, stream(2));
  EXPECT_NE(other.data(), nullptr);
  EXPECT_EQ(pool.stats().recoveries, 1u);
  EXPECT_EQ(source.taken, 80 * kMiB);
}

TEST_F(PoolTest, RecoversByWaitingForOtherStreams) {
  source.room = 100 * kMiB;
  source.busy[stream(2).handle()] = true;
  {
    Buffer large = pool.allocate(80 * kMiB, stream(1));
    large.used_on(stream(2));
  }
  const Buffer again = pool.allocate(80 * kMiB, stream(1));
  EXPECT_NE(again.data(), nullptr);
}

TEST_F(PoolTest, OutOfMemoryNamesHoldersAndPoolStaysUsable) {
  source.room = 100 * kMiB;
  const MemoryScope scope("embeddings");
  const Buffer held = pool.allocate(80 * kMiB, stream(1));
  try {
    const Buffer more = pool.allocate(50 * kMiB, stream(1));
    FAIL() << "allocated 50 MiB more than available";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    const std::string text = error.what();
    for (const char* part :
         {"[memory.allocate]", "50.0 MiB", "embeddings 80.0 MiB", "test memory", "smaller batch"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
  }
  const Buffer small = pool.allocate(10 * kMiB, stream(1));
  EXPECT_NE(small.data(), nullptr);
}

TEST_F(PoolTest, LimitAppliesToUpstreamMemory) {
  pool.set_limit(50 * kMiB);
  { const Buffer fits = pool.allocate(40 * kMiB, stream(1)); }
  EXPECT_THROW(pool.allocate(60 * kMiB, stream(1)), Error);
  EXPECT_LE(source.taken, 50 * kMiB);
  const Buffer other_stream = pool.allocate(45 * kMiB, stream(2));  // releases the first one
  EXPECT_LE(source.taken, 50 * kMiB);
}

TEST_F(PoolTest, FailsTheNthAllocationOnce) {
  pool.fail_nth(2);
  const Buffer first = pool.allocate(512, stream(1));
  EXPECT_THROW(pool.allocate(512, stream(1)), Error);
  const Buffer third = pool.allocate(512, stream(1));
  EXPECT_EQ(pool.stats().current, 1024u);
}

TEST_F(PoolTest, HugeRequestsAreRejected) {
  EXPECT_THROW(pool.allocate(~std::size_t{0}, stream(1)), Error);
  EXPECT_THROW(pool.allocate(std::size_t{1} << 60, stream(1)), Error);
}

TEST_F(PoolTest, GuardsDetectWritesOnBothSides) {
  pool.set_guarded(true);
  {
    const Buffer clean = pool.allocate(100, stream(1));
    EXPECT_EQ(clean.data()[0], std::byte{0xff});
    EXPECT_EQ(clean.data()[99], std::byte{0xff});
  }
  EXPECT_EQ(pool.stats().corrupted, 0u);
  {
    const Buffer behind = pool.allocate(100, stream(1));
    behind.data()[100] = std::byte{1};
  }
  EXPECT_EQ(pool.stats().corrupted, 1u);
  {
    const Buffer before = pool.allocate(100, stream(1));
    before.data()[-1] = std::byte{1};
  }
  EXPECT_EQ(pool.stats().corrupted, 2u);
}

TEST_F(PoolTest, CapturedMemoryKeepsItsAddressesUntilDropped) {
  std::byte* data = nullptr;
  const std::uint64_t capture = pool.new_capture();
  pool.begin_capture(stream(1), capture);
  {
    const Buffer temporary = pool.allocate(4 * kMiB, stream(1));
    data = temporary.data();
  }
  Buffer kept = pool.allocate(4 * kMiB, stream(1));
  EXPECT_EQ(kept.data(), data);  // memory is reused within the capture
  kept = Buffer();
  pool.end_capture(stream(1));
  const Buffer ordinary = pool.allocate(4 * kMiB, stream(1));
  EXPECT_NE(ordinary.data(), data);
  pool.release_cached();
  const std::size_t before = source.taken;
  pool.drop_capture(capture);
  EXPECT_LT(source.taken, before);
}

TEST_F(PoolTest, ACaptureCanBeResumedWithItsMemory) {
  const std::uint64_t capture = pool.new_capture();
  std::byte* data = nullptr;
  for (int i = 0; i < 2; ++i) {
    pool.begin_capture(stream(1), capture);
    pool.join_capture(stream(1), stream(2));
    const Buffer buffer = pool.allocate(4 * kMiB, stream(1));
    const Buffer beside = pool.allocate(4 * kMiB, stream(2));
    EXPECT_TRUE(data == nullptr || buffer.data() == data);
    data = buffer.data();
    pool.end_capture(stream(1));
  }
  const Buffer after = pool.allocate(4 * kMiB, stream(2));  // no longer the capture's
  const std::size_t before = source.taken;
  pool.drop_capture(capture);
  EXPECT_EQ(before - source.taken, 2 * (before / 3));
}

TEST_F(PoolTest, CapturedMemoryStillInUseIsReleasedLater) {
  const std::uint64_t capture = pool.new_capture();
  pool.begin_capture(stream(1), capture);
  Buffer kept = pool.allocate(4 * kMiB, stream(1));
  pool.end_capture(stream(1));
  pool.drop_capture(capture);
  EXPECT_GT(source.taken, 0u);
  kept = Buffer();
  EXPECT_EQ(source.taken, 0u);
}

TEST_F(PoolTest, CountersAreZeroAndSeparatePerStream) {
  const auto all_zero = [](const std::uint32_t* counters) {
    return std::all_of(counters, counters + Pool::kCounters, [](auto count) { return count == 0; });
  };
  {  // earlier writes to the memory must not show
    const Buffer used = pool.allocate(kMiB, stream(1));
    std::memset(used.data(), 0xab, used.size());
  }
  std::uint32_t* const first = pool.counters(stream(1));
  EXPECT_TRUE(all_zero(first));
  EXPECT_EQ(pool.counters(stream(1)), first);
  EXPECT_NE(pool.counters(stream(2)), first);
  const Buffer other = pool.allocate(kMiB, stream(1));
  std::memset(other.data(), 0xab, other.size());
  EXPECT_TRUE(all_zero(first));
  EXPECT_EQ(pool.stats().current, kMiB);  // does not include the counters
}

TEST_F(PoolTest, ACaptureHasItsOwnCounters) {
  std::uint32_t* const ordinary = pool.counters(stream(1));
  const std::uint64_t capture = pool.new_capture();
  pool.begin_capture(stream(1), capture);
  std::uint32_t* const captured = pool.counters(stream(1));
  EXPECT_NE(captured, ordinary);
  EXPECT_EQ(pool.counters(stream(1)), captured);
  pool.end_capture(stream(1));
  EXPECT_EQ(pool.counters(stream(1)), ordinary);
  const std::size_t before = source.taken;
  pool.release_cached();
  EXPECT_EQ(source.taken, before);  // both may be in use
  pool.drop_capture(capture);
  EXPECT_LT(source.taken, before);
}

TEST_F(PoolTest, NoMemoryForCountersIsOutOfMemory) {
  source.room = kMiB;
  EXPECT_THROW((void)pool.counters(stream(1)), Error);
  source.room = 4 * kMiB;
  EXPECT_NE(pool.counters(stream(1)), nullptr);
}

TEST_F(PoolTest, RandomAllocationsNeverOverlapAndAllAreReleased) {
  std::mt19937 random(7);
  std::vector<std::pair<Buffer, std::byte>> live;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 50 && random() % 2 == 0) {
      const std::size_t bytes = std::size_t{1} << (random() % 22);
      const auto mark = static_cast<std::byte>(random());
      Buffer buffer = pool.allocate(bytes + random() % 100, stream(1 + random() % 3));
      buffer.data()[0] = buffer.data()[buffer.size() - 1] = mark;
      live.emplace_back(std::move(buffer), mark);
    } else if (!live.empty()) {
      const std::size_t at = random() % live.size();
      std::swap(live[at], live.back());
      EXPECT_EQ(live.back().first.data()[0], live.back().second);
      EXPECT_EQ(live.back().first.data()[live.back().first.size() - 1], live.back().second);
      live.pop_back();
    }
  }
  live.clear();
  EXPECT_EQ(pool.stats().current, 0u);
  pool.release_cached();
  EXPECT_EQ(source.taken, 0u);
  EXPECT_EQ(pool.stats().segments, 0u);
}

TEST_F(PoolTest, IsThreadSafe) {
  std::vector<std::thread> threads;
  for (std::uintptr_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 2000; ++i) {
        Buffer a = pool.allocate(700, stream(id));
        Buffer b = pool.allocate(70000, stream(id));
        std::memset(a.data(), static_cast<int>(id), a.size());
        std::memset(b.data(), static_cast<int>(id), b.size());
        ASSERT_EQ(a.data()[699], static_cast<std::byte>(id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.stats().current, 0u);
  EXPECT_EQ(pool.stats().allocations, 16000u);
}

TEST(Heap, SplitsAndMerges) {
  Heap heap;
  std::vector<std::byte> memory(64 * 512);
  heap.add_segment({memory.data(), memory.size()});
  Block* a = heap.take(512);
  Block* b = heap.take(1024);
  Block* c = heap.take(512);
  EXPECT_EQ(b->data, a->data + 512);
  EXPECT_EQ(c->data, b->data + 1024);
  heap.release(b);
  EXPECT_EQ(heap.take(1024)->data, memory.data() + 512);
  Block* whole = heap.take(61 * 512);
  EXPECT_EQ(whole, nullptr);
  heap.release(a);
  heap.release(c);
  EXPECT_TRUE(heap.take_free_segments().empty());
}

TEST(Heap, EveryGranuleCanBeTaken) {
  for (std::size_t granules = 1; granules < 3000; granules += 7) {
    Heap heap;
    heap.add_segment({reinterpret_cast<std::byte*>(std::uintptr_t{4096}), granules * 512});
    Block* block = heap.take(granules * 512);
    ASSERT_NE(block, nullptr) << granules;
    EXPECT_EQ(block->size, granules * 512);
    EXPECT_EQ(heap.take(512), nullptr);
    heap.release(block);
    EXPECT_EQ(heap.take_free_segments().size(), 1u);
  }
}

}  // namespace
}  // namespace causeway
