// Groups whose ranks are threads of this process, connected by TCP; ranks_test.py uses processes.
#include "causeway/core/error.h"
#include "tests/dist/serial.h"
#include "tests/dist/thread_ranks.h"
#include "tests/tensor/devices.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

namespace causeway::dist {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> run_ranks(int size, const std::function<void(Group&)>& body,
                                   const Timeouts& timeouts = kPatient) {
  return errors_of_ranks(size, body, timeouts);
}

TEST(Group, GroupOfOneDoesNothing) {
  Group group;
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  const Tensor x = ones({3});
  group.all_reduce(x, Reduction::mean);
  group.broadcast(x);
  group.barrier();
  group.check();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({1, 1, 1}));
  EXPECT_EQ(group.all_gather("text"), std::vector<std::string>({"text"}));
  EXPECT_EQ(group.all_gather(2.5), std::vector<double>({2.5}));
}

TEST(Group, RejectsUnsupportedReductions) {
  Group group;
  EXPECT_THROW(group.all_reduce(zeros({2}, DType::i32)), Error);
  EXPECT_THROW(group.all_reduce(zeros({2}, DType::i64), Reduction::mean), Error);
  EXPECT_THROW(group.all_reduce(zeros({2, 3}).transpose()), Error);
  EXPECT_THROW(group.broadcast(zeros({2}), 1), Error);
}

TEST(Group, AllReduceIsTheSerialSumBitForBit) {
  for (const int size : {2, 3, 5}) {
    for (const DType dtype : kReduced) {
      for (const std::int64_t count : {0, 1, 2, 31, 1000, 100003}) {
        std::vector<Tensor> want;
        for (const Reduction how : kAllReductions) {
          const bool none = dtype == DType::i64 && how == Reduction::mean;
          want.push_back(none ? Tensor() : serial(size, count, dtype, how));
        }
        expect_no_errors(run_ranks(size, [&](Group& group) {
          for (std::size_t i = 0; i < want.size(); ++i) {
            if (dtype == DType::i64 && kAllReductions[i] == Reduction::mean) continue;
            const Tensor x = values_of(group.rank(), count, dtype);
            group.all_reduce(x, kAllReductions[i]);
            expect_same_bytes(x, want[i],
                              fmt::format("{} ranks, {} of {}", size, count, to_string(dtype)));
          }
        }));
      }
    }
  }
}

TEST(Group, MaxPropagatesNan) {
  expect_no_errors(run_ranks(3, [](Group& group) {
    const Tensor x = full({4}, group.rank() == 1 ? std::nan("") : 1.0);
    group.all_reduce(x, Reduction::max);
    EXPECT_TRUE(std::isnan(x.select(0, 2).item()));
  }));
}

TEST(Group, TensorsLongerThanAChunk) {
  constexpr std::int64_t kCount = 5'000'011;  // f32: more than 8 MiB, not a multiple of 3
  expect_no_errors(run_ranks(3, [](Group& group) {
    const Tensor x = arange(0, kCount, 1, DType::f32);
    group.all_reduce(x);
    expect_same_bytes(x, arange(0, kCount, 1, DType::f32) * 3.0, "sum");
    const Tensor y = group.rank() == 2 ? arange(0, kCount, 1, DType::f32) : zeros({kCount});
    group.broadcast(y, 2);
    expect_same_bytes(y, arange(0, kCount, 1, DType::f32), "broadcast");
  }));
}

// The halves of all_reduce: the same bits, for small tensors and those longer than a message.
TEST(Group, ReduceScatterThenAllGatherIsAllReduce) {
  for (const int size : {2, 3}) {
    for (const std::int64_t part : cases<std::int64_t>({0, 1, 33, 1'500'007}, {0, 33, 100'003})) {
      for (const DType dtype : kReduced) {
        expect_no_errors(run_ranks(size, [&](Group& group) {
          const Tensor x = values_of(group.rank(), part * size, dtype);
          const Tensor want = x.clone();
          group.all_reduce(want);
          group.start_reduce_scatter(x).wait();
          const std::int64_t begin = group.rank() * part;
          expect_same_bytes(x.slice(0, begin, begin + part), want.slice(0, begin, begin + part),
                            "own part");
          group.start_all_gather(x).wait();
          expect_same_bytes(x, want, "all parts");
        }));
      }
    }
  }
  expect_no_errors(run_ranks(3, [](Group& group) {
    EXPECT_THROW(group.start_reduce_scatter(zeros({4})), Error);
    EXPECT_THROW(group.start_all_gather(zeros({3, 3})), Error);
  }));
}

// A rank whose main thread computes sends heartbeats: it is waited for.
TEST(Group, ABusyRankIsNotLost) {
  expect_no_errors(run_ranks(2,
                             [](Group& group) {
                               if (group.rank() == 1) std::this_thread::sleep_for(6s);
                               group.barrier();
                             },
                             {10s, 20s, 4s}));
}

TEST(Group, ConcurrentCollectivesWaitedInAnyOrder) {
  expect_no_errors(run_ranks(3, [](Group& group) {
    std::vector<Tensor> tensors;
    std::vector<Pending> pending;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(full({1000 + i}, group.rank() * 100 + i));
      pending.push_back(group.start_all_reduce(tensors.back()));
    }
    for (int i = 19; i >= 0; --i) {
      pending[static_cast<std::size_t>(i)].wait();
      const Tensor& x = tensors[static_cast<std::size_t>(i)];
      expect_same_bytes(x, full(x.shape(), 300 + 3 * i), std::to_string(i));
    }
  }));
}

TEST(Group, StartedCollectivesFinishWithoutWait) {
  Tensor x = ones({1000});
  expect_no_errors(run_ranks(
      2, [&](Group& group) { group.start_all_reduce(group.rank() == 0 ? x : ones({1000})); }));
  expect_same_bytes(x, full({1000}, 2), "sum");
}

TEST(Group, BroadcastGatherBarrier) {
  expect_no_errors(run_ranks(4, [](Group& group) {
    const Tensor flags = full({3, 5}, group.rank(), DType::u8);
    group.broadcast(flags, 3);
    expect_same_bytes(flags, full({3, 5}, 3, DType::u8), "broadcast");
    const auto texts = group.all_gather(std::string(static_cast<std::size_t>(group.rank()), 'x'));
    EXPECT_EQ(texts, std::vector<std::string>({"", "x", "xx", "xxx"}));
    EXPECT_EQ(group.all_gather(group.rank() + 0.5), std::vector<double>({0.5, 1.5, 2.5, 3.5}));
    EXPECT_EQ(group.all_gather(std::int64_t{-1} << group.rank()),
              std::vector<std::int64_t>({-1, -2, -4, -8}));
    group.barrier();
  }));
}

TEST(Group, BarrierWaitsForTheLast) {
  std::atomic<bool> last_has_come = false;
  expect_no_errors(run_ranks(3, [&](Group& group) {
    if (group.rank() == 2) {
      std::this_thread::sleep_for(300ms);
      last_has_come = true;
    }
    group.barrier();
    EXPECT_TRUE(last_has_come);
  }));
}

TEST(Group, DifferentShapesFailOnAllRanks) {
  const auto messages = run_ranks(3, [](Group& group) {
    group.all_reduce(group.rank() == 2 ? zeros({3, 2}) : zeros({2, 3}));
  });
  for (const std::string& message : messages) {
    EXPECT_CONTAINS(message,
                    "rank 0 calls all_reduce sum of f32 (2, 3) on cpu, rank 2 calls all_reduce "
                    "sum of f32 (3, 2) on cpu");
  }
}

TEST(Group, DifferentCallsFailOnAllRanks) {
  const auto messages = run_ranks(2, [](Group& group) {
    group.barrier();
    if (group.rank() == 0) {
      group.all_reduce(zeros({4}), Reduction::mean);
    } else {
      group.broadcast(zeros({4}), 1);
    }
  });
  for (const std::string& message : messages) {
    EXPECT_CONTAINS(message,
                    "rank 0 calls all_reduce mean of f32 (4,) on cpu, rank 1 calls broadcast "
                    "from rank 1 of f32 (4,) on cpu");
  }
}

TEST(Group, ReportsRankThatLeftEarly) {
  const auto messages = run_ranks(3, [](Group& group) {
    if (group.rank() != 1) group.all_reduce(zeros({4}));
  });
  EXPECT_EQ(messages[1], "");
  EXPECT_CONTAINS(messages[0], "rank 1 has left the group");
  EXPECT_CONTAINS(messages[2], "rank 1");
}

TEST(Group, ReportsFailedRankAndStopsOthers) {
  const auto messages = run_ranks(3, [](Group& group) {
    group.barrier();
    if (group.rank() == 1) fail(ErrorKind::io, "test", "no such file");
    group.all_reduce(zeros({4}));
  });
  EXPECT_CONTAINS(messages[0], "rank 1 failed");
  EXPECT_CONTAINS(messages[2], "rank 1 failed");
}

TEST(Group, FailedRankDoesNotWaitForPendingCollectives) {
  std::promise<void> failed;
  const auto messages = run_ranks(2, [&](Group& group) {
    group.barrier();
    if (group.rank() == 0) {  // computes without calling collectives
      EXPECT_EQ(failed.get_future().wait_for(30s), std::future_status::ready);
      for (int i = 0; i < 3000; ++i, std::this_thread::sleep_for(10ms)) group.check();
      return;
    }
    try {
      Group mine = std::move(group);
      mine.start_all_reduce(zeros({4}));
      std::this_thread::sleep_for(300ms);  // rank 0 has received its first bytes
      fail(ErrorKind::io, "test", "no such file");
    } catch (const Error&) {
      failed.set_value();
      throw;
    }
  });
  EXPECT_CONTAINS(messages[0], "rank 1 failed");
}

TEST(Group, CallsAfterAnErrorRethrowIt) {
  const auto messages = run_ranks(2, [](Group& group) {
    EXPECT_THROW(group.all_reduce(zeros({group.rank() + 1})), Error);
    EXPECT_THROW(group.check(), Error);
    EXPECT_THROW(group.barrier(), Error);
    group.all_reduce(zeros({4}));
  });
  for (const std::string& message : messages) EXPECT_CONTAINS(message, "the ranks differ");
}

TEST(Group, ReportsHangingRank) {
  std::promise<void> reported;
  const auto hang = [&] { reported.get_future().wait_for(30s); };
  const auto messages = run_ranks(2,
                                  [&](Group& group) {
                                    if (group.rank() == 1) return hang();
                                    try {
                                      group.barrier();
                                    } catch (const Error&) {
                                      reported.set_value();
                                      throw;
                                    }
                                  },
                                  {60s, 500ms});
  EXPECT_CONTAINS(messages[0], "rank 0 waited 0.5 s for rank 1");
}

TEST(Group, SecondGroupAfterTheFirst) {
  const int port = free_port();
  for (int turn = 0; turn < 3; ++turn) {
    std::thread other([&] { Group(thread_launch(1, 2, port), kPatient).barrier(); });
    Group(thread_launch(0, 2, port), kPatient).barrier();
    other.join();
  }
}

}  // namespace
}  // namespace causeway::dist
