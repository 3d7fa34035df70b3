// The pool over virtual memory: free neighbours merge whatever their sizes, free pages are released
// when others need them, and failures leave it usable.
#include "causeway/runtime/virtual_memory.h"
#include "causeway/core/error.h"
#include "causeway/runtime/heap.h"
#include "causeway/runtime/pool.h"

#include "tests/runtime/source_upstream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace causeway {
namespace {

class VirtualPoolTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kRange = 1024 * kMiB;

  VirtualPoolTest() { make(kRange); }
  void make(std::size_t range_size) {
    pool.emplace("test", std::make_unique<SourceUpstream>(
                             source, std::make_unique<SourcePages>(source, range_size)));
    pool->set_guarded(false);
  }

  Source source;
  std::optional<Pool> pool;
};

TEST_F(VirtualPoolTest, StepsOfGrowingSizesNeedTheMemoryOfTheLargest) {
  // Each step holds several blocks at a time, all slightly larger than those of the step before.
  const std::uint64_t capture = pool->new_capture();
  for (std::size_t step = 0; step < 20; ++step) {
    pool->begin_capture(stream(1), capture);
    std::vector<Buffer> blocks;
    for (std::size_t i = 0; i < 6; ++i) {
      blocks.push_back(pool->allocate((11 + i) * kMiB + step * 70'000, stream(1)));
    }
    blocks.clear();
    pool->end_capture(stream(1));
  }
  EXPECT_LE(source.taken, (81 + 6 * 2 + 2) * kMiB);  // 81 MiB, 1.4 MiB more for each block
}

TEST_F(VirtualPoolTest, FreedNeighboursMerge) {
  Buffer a = pool->allocate(20 * kMiB, stream(1));
  Buffer b = pool->allocate(30 * kMiB, stream(1));
  std::byte* const data = a.data();
  EXPECT_EQ(b.data(), data + 20 * kMiB);
  a = Buffer();
  b = Buffer();
  const Buffer both = pool->allocate(50 * kMiB, stream(1));
  EXPECT_EQ(both.data(), data);
  EXPECT_EQ(source.taken, 50 * kMiB);
}

TEST_F(VirtualPoolTest, ReleasesOnlyThePagesThatOthersNeed) {
  source.room = 100 * kMiB;
  Buffer kept = pool->allocate(20 * kMiB, stream(1));
  { const Buffer large = pool->allocate(80 * kMiB, stream(1)); }
  const Buffer other = pool->allocate(30 * kMiB, stream(2));
  EXPECT_EQ(source.taken, 100 * kMiB);  // 30 MiB moved from one stream to the other
  EXPECT_EQ(pool->stats().recoveries, 1u);
  const Buffer again = pool->allocate(50 * kMiB, stream(1));  // what was left there
  EXPECT_EQ(again.data(), kept.data() + 20 * kMiB);
  EXPECT_EQ(source.taken, 100 * kMiB);
}

TEST_F(VirtualPoolTest, FragmentedMemoryServesALargeBlock) {
  source.room = 100 * kMiB;
  std::vector<Buffer> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(pool->allocate(10 * kMiB, stream(1)));
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = Buffer();
  // 50 MiB are free, in pieces of 10 MiB: their pages are mapped at other addresses.
  const Buffer large = pool->allocate(48 * kMiB, stream(1));
  EXPECT_NE(large.data(), nullptr);
  EXPECT_LE(source.taken, 100 * kMiB);
  const Buffer small = pool->allocate(2 * kMiB, stream(1));
}

TEST_F(VirtualPoolTest, GapsAreMappedAgainWhenTheRangeIsFull) {
  source.room = 64 * kMiB;
  make(64 * kMiB);
  std::vector<Buffer> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool->allocate(16 * kMiB, stream(1)));
  std::byte* const second = blocks[1].data();
  blocks[1] = Buffer();
  pool->release_cached();
  EXPECT_EQ(source.taken, 48 * kMiB);
  blocks[2] = Buffer();
  // The gap and its free neighbour: only the gap's pages are mapped.
  const Buffer joined = pool->allocate(31 * kMiB, stream(1));
  EXPECT_EQ(joined.data(), second);
  EXPECT_EQ(source.taken, 64 * kMiB);
  EXPECT_THROW(pool->allocate(20 * kMiB, stream(1)), Error);
}

TEST_F(VirtualPoolTest, EveryFailingMapLeavesThePoolUsable) {
  for (int n = 1; n <= 12; ++n) {
    SCOPED_TRACE(n);
    source.fail_map = n;
    std::vector<Buffer> blocks;
    for (std::size_t i = 0; i < 10; ++i) {
      // A failed map is an out-of-memory error or is tried again with less memory.
      try {
        blocks.push_back(pool->allocate((4 + 3 * i) * kMiB, stream(1 + i % 2)));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
      }
    }
    EXPECT_GE(blocks.size(), 9u);
    source.fail_map = 0;
    blocks.clear();
    EXPECT_EQ(pool->stats().current, 0u);
    pool->release_cached();
    EXPECT_EQ(source.taken, 0u);
  }
}

TEST_F(VirtualPoolTest, LimitAppliesToMappedPages) {
  pool->set_limit(50 * kMiB);
  { const Buffer fits = pool->allocate(40 * kMiB, stream(1)); }
  EXPECT_THROW(pool->allocate(60 * kMiB, stream(1)), Error);
  const Buffer other_stream = pool->allocate(45 * kMiB, stream(2));
  EXPECT_LE(source.taken, 50 * kMiB);
}

TEST_F(VirtualPoolTest, MemoryOfRecordedGraphsStaysUntilTheyAreDropped) {
  source.room = 64 * kMiB;
  const std::uint64_t capture = pool->new_capture();
  pool->begin_capture(stream(1), capture);
  { const Buffer temporary = pool->allocate(40 * kMiB, stream(1)); }
  pool->end_capture(stream(1));
  EXPECT_EQ(pool->stats().captured, 40 * kMiB);
  try {
    const Buffer other = pool->allocate(30 * kMiB, stream(2));
    FAIL() << "took the memory of a recorded graph";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("recorded graphs hold 40.0 MiB"), std::string::npos)
        << error.what();
  }
  pool->drop_capture(capture);
  EXPECT_EQ(source.taken, 0u);
  EXPECT_EQ(pool->stats().captured, 0u);
  EXPECT_NE(pool->allocate(60 * kMiB, stream(2)).data(), nullptr);
}

TEST_F(VirtualPoolTest, WaitsForOtherStreamsDuringACapture) {
  source.room = 64 * kMiB;
  source.busy[stream(2).handle()] = true;
  source.busy[stream(3).handle()] = true;
  {
    Buffer shared = pool->allocate(30 * kMiB, stream(2));
    shared.used_on(stream(3));
  }
  const std::uint64_t capture = pool->new_capture();
  pool->begin_capture(stream(1), capture);
  const Buffer captured = pool->allocate(60 * kMiB, stream(1));
  EXPECT_FALSE(source.busy[stream(2).handle()]);  // before its pages were released
  EXPECT_FALSE(source.busy[stream(3).handle()]);
  pool->end_capture(stream(1));
}

TEST_F(VirtualPoolTest, ReservedMemoryIsFoundByLaterAllocations) {
  source.room = 64 * kMiB;
  const std::uint64_t capture = pool->new_capture();
  pool->begin_capture(stream(1), capture);
  pool->reserve(60 * kMiB, stream(1));
  EXPECT_EQ(pool->stats().peak, 0u);
  EXPECT_EQ(source.taken, 60 * kMiB);
  const Buffer first = pool->allocate(25 * kMiB, stream(1));
  const Buffer second = pool->allocate(35 * kMiB, stream(1));
  EXPECT_EQ(source.taken, 60 * kMiB);
  EXPECT_THROW(pool->reserve(30 * kMiB, stream(1)), Error);
  pool->end_capture(stream(1));
}

TEST_F(VirtualPoolTest, RangesOfDroppedCapturesAreReleased) {
  { const Buffer warm = pool->allocate(4 * kMiB, stream(1)); }
  const std::size_t before = source.ranges.size();
  Buffer kept;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t capture = pool->new_capture();
    pool->begin_capture(stream(1), capture);
    kept = pool->allocate(4 * kMiB, stream(1));
    const Buffer small = pool->allocate(100, stream(1));
    pool->end_capture(stream(1));
    pool->drop_capture(capture);
  }
  kept = Buffer();
  EXPECT_EQ(source.ranges.size(), before);
}

TEST_F(VirtualPoolTest, RandomAllocationsNeverOverlapAndAllAreReleased) {
  source.room = 256 * kMiB;
  std::mt19937 random(7);
  std::vector<Buffer> live;
  std::size_t refused = 0;
  const auto overlaps = [&](const Buffer& buffer) {
    return std::any_of(live.begin(), live.end(), [&](const Buffer& other) {
      return buffer.data() < other.data() + other.size() &&
             other.data() < buffer.data() + buffer.size();
    });
  };
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0) {
      try {
        const std::size_t bytes = (std::size_t{1} << (random() % 26)) + random() % 5000;
        Buffer buffer = pool->allocate(bytes, stream(1 + random() % 3));
        ASSERT_FALSE(overlaps(buffer));
        for (const std::byte* at : {buffer.data(), buffer.data() + buffer.size() - 1}) {
          const auto address = reinterpret_cast<std::uintptr_t>(at) / kTestPage * kTestPage;
          ASSERT_TRUE(source.mapped.contains(reinterpret_cast<std::byte*>(address)));
        }
        live.push_back(std::move(buffer));
      } catch (const Error&) {
        ++refused;
      }
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    }
  }
  EXPECT_GT(refused, 0u);  // the test reaches the limit
  live.clear();
  EXPECT_EQ(pool->stats().current, 0u);
  pool->release_cached();
  EXPECT_EQ(source.taken, 0u);
  EXPECT_TRUE(source.mapped.empty());
  EXPECT_EQ(pool->stats().segments, 0u);
  pool.reset();
  EXPECT_TRUE(source.ranges.empty());
}

TEST(HostVirtualMemory, PagesAreZeroAgainAfterTheyWereUnmapped) {
  const auto memory = virtual_memory_of(Device::cpu());
  const std::size_t page = memory->page_size();
  std::byte* const range = memory->reserve(8 * page);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range) % page, 0u);
  ASSERT_TRUE(memory->map(range + page, 2 * page));
  range[page] = range[3 * page - 1] = std::byte{1};
  memory->unmap(range + page, page);
  ASSERT_TRUE(memory->map(range + page, page));
  EXPECT_EQ(range[page], std::byte{0});
  EXPECT_EQ(range[3 * page - 1], std::byte{1});
  memory->unreserve(range, 8 * page);
}

}  // namespace
}  // namespace causeway
