#include "causeway/core/interrupt.h"

#include "causeway/core/error.h"
#include "causeway/runtime/threads.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <gtest/gtest.h>

#include <atomic>

namespace causeway {
namespace {

struct Cleared {
  ~Cleared() { clear_interrupt(); }
};

TEST(Interruptible, OnlyWhereDeclared) {
  const Cleared cleared;
  const Tensor x = ones({4});
  request_interrupt();
  EXPECT_EQ((x + x).to_vector<float>()[0], 2);
  {
    const Interruptible on;
    try {
      x + x;
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
  }
  EXPECT_EQ((x + x).to_vector<float>()[0], 2);
}

TEST(Interruptible, StopsARunningLoop) {
  const Cleared cleared;
  std::atomic<std::int64_t> done{0};
  const Interruptible on;
  const auto loop = [&] {
    parallel_for(100000, 1, [&](std::int64_t begin, std::int64_t end) {
      done += end - begin;
      request_interrupt();
    });
  };
  EXPECT_THROW(loop(), Error);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 50000);
}

TEST(Interruptible, EveryItemOnceWithoutARequest) {
  const Interruptible on;
  for (const std::int64_t count : {0, 1, 31, 63, 64, 65, 1000, 12345}) {
    for (const std::int64_t grain : {1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& times : seen) ASSERT_EQ(times, 1);
    }
  }
}

TEST(Interruptible, NestedLoopsDoNotThrowInsideTheOuter) {
  const Cleared cleared;
  const Interruptible on;
  const auto nested = [&] {
    parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
      request_interrupt();
      parallel_for(8, 1, [](std::int64_t, std::int64_t) {});
    });
  };
  EXPECT_THROW(nested(), Error);
}

}  // namespace
}  // namespace causeway
