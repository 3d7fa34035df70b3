// Ranks that connect, and their errors. They are threads of this process.
#include "causeway/core/error.h"
#include "tests/dist/thread_ranks.h"

#include <chrono>
#include <thread>

namespace causeway::dist {
namespace {

using namespace std::chrono_literals;

std::string joining_fails(const Launch& launch, const Timeouts& timeouts = {500ms, 10s}) {
  try {
    const Group group(launch, timeouts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::distributed);
    return error.what();
  }
  ADD_FAILURE() << "the rank has joined";
  return "";
}

TEST(Join, ReportsMissingRanks) {
  const int port = free_port();
  std::string of_rank_2;
  std::thread other([&] { of_rank_2 = joining_fails(thread_launch(2, 4, port), {5s, 10s}); });
  const std::string message = joining_fails(thread_launch(0, 4, port));
  other.join();
  EXPECT_CONTAINS(message, "these did not join: 1, 3;");
  EXPECT_EQ(of_rank_2, message);
}

TEST(Join, ConnectionRefused) {
  const std::string message = joining_fails(thread_launch(1, 2, free_port()));
  EXPECT_CONTAINS(message, "rank 1 did not reach rank 0");
  EXPECT_CONTAINS(message, "Connection refused");
  EXPECT_CONTAINS(message, "MASTER_ADDR");
}

TEST(Join, UnknownAddress) {
  Launch launch = thread_launch(1, 2, 29500);
  launch.address = "no-such-host.invalid";
  EXPECT_CONTAINS(joining_fails(launch), "\"no-such-host.invalid\" of rank 0 cannot be looked up");
}

TEST(Join, PortInUse) {
  const Socket taken = Socket::listen(0);
  EXPECT_CONTAINS(joining_fails(thread_launch(0, 2, taken.port())), "Address already in use");
}

TEST(Join, SkipsPortsOfOtherProcesses) {
  const Socket stranger = Socket::listen(0);  // accepts connections but does not answer
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Launch launch = thread_launch(rank, 2, stranger.port());
      launch.n_ports = 8;
      Group group(launch, {30s, 10s});
      EXPECT_EQ(group.all_gather(1.0 * rank), std::vector<double>({0, 1}));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Two jobs on one machine that try overlapping ports: each rank finds those of its own.
TEST(Join, RunsOnNeighbouringPorts) {
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int job = 0; job < 2; ++job) {
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([=] {
        Launch launch = thread_launch(rank, 3, port + job);
        launch.n_ports = 8;
        launch.run_name = "127.0.0.1:" + std::to_string(port + job);
        Group group(launch, {30s, 10s});
        EXPECT_EQ(group.all_gather(10.0 * job + rank),
                  std::vector<double>({10.0 * job, 10.0 * job + 1, 10.0 * job + 2}));
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// A rank whose connection was not answered in time connects again.
TEST(Join, ARankMayConnectAgain) {
  const int port = free_port();
  std::vector<std::string> messages(3);
  const auto join = [&](int rank) {
    return std::thread([&, rank] {
      try {
        Group(thread_launch(rank, 3, port), {20s, 10s}).barrier();
      } catch (const Error& error) {
        messages[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  };
  std::thread first = join(0);
  EXPECT_CONTAINS(joining_fails(thread_launch(1, 3, port), {100ms, 10s}), "rank 1 waited 0.1 s");
  std::thread second = join(1);
  std::thread third = join(2);
  for (std::thread* each : {&first, &second, &third}) each->join();
  expect_no_errors(messages);
}

TEST(Join, AnotherTokenIsNotLetIn) {
  const int port = free_port();
  Launch launch = thread_launch(0, 2, port);
  launch.token = "right";
  std::string of_stranger;
  std::thread stranger([&] {
    Launch wrong = thread_launch(1, 2, port);
    wrong.token = "wrong";
    of_stranger = joining_fails(wrong, {3s, 10s});  // rank 0 is gone at the end
  });
  const std::string message = joining_fails(launch, {2s, 10s});
  stranger.join();
  EXPECT_CONTAINS(message, "these did not join: 1;");
  EXPECT_CONTAINS(of_stranger, "another CAUSEWAY_DIST_TOKEN");
  std::thread other([&] {
    Launch right = thread_launch(1, 2, port);
    right.token = "right";
    Group(right, kPatient).barrier();
  });
  Group(launch, kPatient).barrier();
  other.join();
}

// Runs on one machine cannot be reached from others.
TEST(Join, ListensOnTheLoopbackOnly) {
  for (const char* address : {"127.0.0.1", "localhost"}) {
    const Socket door = Socket::listen(0, address);
    EXPECT_TRUE(door.address() == "127.0.0.1" || door.address() == "::1") << door.address();
  }
  const std::string all = Socket::listen(0, "no-such-host.invalid").address();
  EXPECT_TRUE(all == "::" || all == "0.0.0.0") << all;
}

TEST(Join, RejectsOtherSizesAndDuplicateRanks) {
  const int port = free_port();
  std::string of_other;
  std::thread other([&] { of_other = joining_fails(thread_launch(1, 3, port), {5s, 10s}); });
  EXPECT_CONTAINS(joining_fails(thread_launch(0, 2, port), {5s, 10s}), "rank 1 of 3");
  other.join();
  EXPECT_CONTAINS(of_other, "rank 0 expects 2 ranks");

  std::vector<std::string> twice(2);
  std::vector<std::thread> threads;
  for (std::string& message : twice) {
    threads.emplace_back([&] { message = joining_fails(thread_launch(1, 3, port), {5s, 10s}); });
  }
  EXPECT_CONTAINS(joining_fails(thread_launch(0, 3, port), {5s, 10s}),
                  "two processes joined as rank 1");
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : twice)
    EXPECT_CONTAINS(message, "two processes joined as rank 1");
}

}  // namespace
}  // namespace causeway::dist
