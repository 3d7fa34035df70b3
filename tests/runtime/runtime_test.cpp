#include "causeway/core/error.h"
#include "causeway/runtime/device.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/profiler.h"
#include "causeway/runtime/threads.h"
#include "causeway/runtime/transfer.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/matmul.h"

#include <gtest/gtest.h>

#include <numeric>

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace causeway {
namespace {

TEST(Device, TheCpuIsDescribed) {
  EXPECT_EQ(devices().front(), Device::cpu());
  const DeviceInfo info = describe(Device::cpu());
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.memory_total, info.memory_free);
  EXPECT_GT(info.memory_free, 0u);
  EXPECT_GE(info.multiprocessors, 1);
}

TEST(Device, Parse) {
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  EXPECT_EQ(parse_device("auto"), cuda_device_count() > 0 ? Device::cuda() : Device::cpu());
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "CPU"}) {
    try {
      parse_device(bad);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << bad;
    }
  }
}

TEST(Device, AMissingDeviceIsADeviceErrorWithAReason) {
  try {
    parse_device("cuda:63");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("cuda:63"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cuda_absence().empty(), cuda_device_count() > 0);
}

TEST(Stream, TheCpuStreamRunsImmediately) {
  const StreamView stream = current_stream(Device::cpu());
  EXPECT_TRUE(stream.done());
  Event start(Device::cpu(), true);
  Event end(Device::cpu(), true);
  start.record(stream);
  end.record(stream);
  stream.wait(end);
  EXPECT_TRUE(end.done());
  EXPECT_GE(Event::milliseconds(start, end), 0);
  EXPECT_THROW(Graph::capture(stream, [] {}), Error);
}

TEST(Threads, EveryItemOnce) {
  for (std::int64_t count : {0, 1, 31, 32, 33, 100003}) {
    std::vector<int> seen(static_cast<std::size_t>(count), 0);
    parallel_for(count, 100, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), count);
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
  EXPECT_THROW(set_thread_count(0), Error);
}

TEST(Threads, NestedLoopsRunInTheirThread) {
  const int before = thread_count();
  set_thread_count(3);
  std::vector<int> counts(3, 0);
  std::vector<std::int64_t> inner(3, 0);
  parallel_for(3, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      counts[static_cast<std::size_t>(i)] = thread_count();
      parallel_for(1000, 1, [&, i](std::int64_t from, std::int64_t to) {
        inner[static_cast<std::size_t>(i)] += to - from;
      });
    }
  });
  EXPECT_EQ(counts, (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(inner, (std::vector<std::int64_t>{1000, 1000, 1000}));
  EXPECT_EQ(thread_count(), 3);
  set_thread_count(before);
}

TEST(Transfer, HostToHost) {
  std::vector<int> from(3000001);
  std::iota(from.begin(), from.end(), 0);
  std::vector<int> to(from.size());
  transfer(to.data(), Device::cpu(), from.data(), Device::cpu(), from.size() * sizeof(int),
           StreamView());
  EXPECT_EQ(to, from);
}

TEST(Profiler, ReportsNamesCountsAndBytes) {
  const Tensor x = ones({1000});
  profiler::start();
  for (int i = 0; i < 3; ++i) (void)(x + x);
  (void)exp(x);
  profiler::stop();
  (void)exp(x);  // no longer recorded
  const auto entries = profiler::report();
  ASSERT_EQ(entries.size(), 2u);
  for (const auto& entry : entries) {
    if (entry.name == "binary.add") {
      EXPECT_EQ(entry.count, 3u);
      EXPECT_EQ(entry.bytes, 3 * 12000.0);
    } else {
      EXPECT_EQ(entry.name, "unary.exp");
      EXPECT_EQ(entry.count, 1u);
      EXPECT_EQ(entry.bytes, 8000.0);
    }
    EXPECT_NEAR(entry.mean_ms, entry.total_ms / static_cast<double>(entry.count), 1e-9);
  }
  const auto report = nlohmann::json::parse(profiler::report_json());
  EXPECT_EQ(report["entries"].size(), 2u);
  EXPECT_TRUE(report["entries"][0]["share_of_peak"].is_null());
  const auto trace = nlohmann::json::parse(profiler::trace_json());
  int complete = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++complete;
    EXPECT_GE(event["dur"].get<double>(), 0);
    EXPECT_EQ(event["pid"], 0);
  }
  EXPECT_EQ(complete, 4);
}

// OpenMP's threads do not exist in a forked process, where a loop would wait for them forever.
TEST(Threads, LoopsRunAfterFork) {
  const int before = thread_count();
  set_thread_count(3);
  const auto sum = [] {
    std::vector<std::int64_t> items(1000);
    parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) items[static_cast<std::size_t>(i)] = i;
    });
    return std::accumulate(items.begin(), items.end(), std::int64_t{0});
  };
  const std::int64_t expected = sum();  // starts the threads
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const bool same = sum() == expected && thread_count() == 1;
    const Tensor x = ones({300, 300});
    ::_exit(same && matmul(x, x).select(0, 0).select(0, 0).item() == 300 ? 0 : 1);
  }
  set_thread_count(before);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace causeway
