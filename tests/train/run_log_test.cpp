// The log of a run: one line per call, complete lines after a kill, one line per step after a
// resume.
#include "causeway/train/run_log.h"

#include "tests/train/checkpoints.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <sstream>
#include <thread>

#include <signal.h>
#include <sys/resource.h>

namespace causeway::train_test {
namespace {

using train::RunLog;

std::vector<nlohmann::json> lines_of(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(contents(path));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<std::int64_t> steps_of(const std::filesystem::path& path) {
  std::vector<std::int64_t> steps;
  for (const auto& line : lines_of(path)) steps.push_back(line.at("step"));
  return steps;
}

void add_steps(RunLog& log, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step) {
    log.add(step, {{"loss", 1.0 / static_cast<double>(step + 1)}});
  }
}

using Steps = std::vector<std::int64_t>;

TEST(RunLog, OneObjectPerLine) {
  const Scratch scratch;
  RunLog log(scratch / "new/run");
  EXPECT_EQ(log.path(), scratch / "new/run/log.jsonl");
  EXPECT_EQ(log.last_step(), -1);
  log.add(0, {{"train/loss", 0.1 + 0.2}, {"rate", 1e-300}});
  log.add(7, {{"nan", std::numeric_limits<double>::quiet_NaN()},
              {"big", -std::numeric_limits<double>::infinity()},
              {"bad \xff\n\"", 1}});
  log.add(7, {});
  const auto lines = lines_of(log.path());  // flushed, while it is open
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].at("train/loss"), 0.1 + 0.2);
  EXPECT_EQ(lines[0].at("rate"), 1e-300);
  EXPECT_GT(lines[0].at("time"), 1.7e9);
  EXPECT_TRUE(lines[1].at("nan").is_null());
  EXPECT_TRUE(lines[1].at("big").is_null());
  EXPECT_EQ(lines[1].size(), 5u);
  EXPECT_EQ(lines[2].size(), 2u);
  EXPECT_TRUE(contents(log.path()).starts_with("{\"step\":0,\"time\":"));
  EXPECT_EQ(log.last_step(), 7);
}

TEST(RunLog, ResumingRemovesLaterLines) {
  const Scratch scratch;
  for (const std::int64_t at : {-1, 0, 5, 9, 100}) {
    const std::filesystem::path run = scratch / std::to_string(at + 1);
    {
      RunLog log(run);
      add_steps(log, 0, 9);
    }
    RunLog log(run, at);
    EXPECT_EQ(log.last_step(), std::min<std::int64_t>(at, 9));
    Steps expected;
    for (std::int64_t step = 0; step <= std::min<std::int64_t>(at, 9); ++step) {
      expected.push_back(step);
    }
    EXPECT_EQ(steps_of(log.path()), expected) << at;
    log.add(101, {{"loss", 2}});
    expected.push_back(101);
    EXPECT_EQ(steps_of(log.path()), expected) << at;
  }
}

TEST(RunLog, ATruncatedLastLineIsRemoved) {
  const Scratch scratch;
  {
    RunLog log(scratch.folder());
    add_steps(log, 0, 2);
  }
  const std::string whole = contents(scratch / "log.jsonl");
  const std::size_t third = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = third; size < whole.size(); ++size) {
    put(scratch / "log.jsonl", whole.substr(0, size));
    testing::internal::CaptureStderr();
    RunLog log(scratch.folder(), 50);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("ends in an incomplete line") != said.npos, size > third) << said;
    EXPECT_EQ(log.last_step(), 1) << size;
    log.add(2, {{"loss", 7}});
    EXPECT_EQ(steps_of(log.path()), (Steps{0, 1, 2})) << size;
  }
}

TEST(RunLog, ForeignLinesAreRemovedAtTheEndAndWarnedAboutElsewhere) {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "log.jsonl";
  put(path, "{\"step\":1}\n" + std::string(20, '\0') + "\n\n[]\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunLog(scratch.folder(), 50).last_step(), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("line 2 is not a log line; it is removed"),
            std::string::npos);
  EXPECT_EQ(contents(path), "{\"step\":1}\n");
  put(path, "{\"step\":1}\nwhat\n{\"step\":2}\n{\"step\":\"3\"}\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunLog(scratch.folder(), 50).last_step(), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("line 2 is not a log line"),
            std::string::npos);
  EXPECT_EQ(contents(path), "{\"step\":1}\nwhat\n{\"step\":2}\n");
}

TEST(RunLog, BadArguments) {
  const Scratch scratch;
  RunLog log(scratch.folder());
  log.add(5, {});
  EXPECT_TRUE(
      says(failure([&] { log.add(4, {}); }), "invalid_argument: [run_log] step 4 after step 5"));
  for (const char* name : {"step", "time"}) {
    EXPECT_TRUE(says(failure([&] { log.add(6, {{name, 1}}); }), "invalid_argument:", "twice"));
  }
  EXPECT_TRUE(says(failure([&] { RunLog(scratch.folder(), 5); }), "io: [run_log] cannot write",
                   "another process is writing it"));
  EXPECT_EQ(steps_of(log.path()), Steps{5});
  put(scratch / "file", "");
  EXPECT_TRUE(says(failure([&] { RunLog(scratch / "file"); }), "io: [run_log] cannot write"));
}

// A line that does not fit is not written in part; logging works again once there is space.
TEST(RunLog, AFullDiskLeavesCompleteLines) {
  const Scratch scratch;
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    RunLog log(scratch.folder());
    log.add(1, {{"loss", 1}});
    const rlimit full{contents(log.path()).size() + 10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &full);
    if (!says(failure([&] { log.add(2, {{"loss", 1}}); }), "io: [run_log]", "too large")) return 1;
    if (steps_of(log.path()) != Steps{1}) return 2;
    const rlimit roomy{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &roomy);
    log.add(3, {{"loss", 1}});
    return steps_of(log.path()) == Steps{1, 3} ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

TEST(RunLog, AKilledRunLeavesALogThatCanBeContinued) {
  const Scratch scratch;
  std::int64_t last = -1;
  for (int round = 0; round < 20; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      RunLog log(scratch.folder(), last);
      for (std::int64_t step = last + 1;; ++step) {
        log.add(step, {{"loss", 0.5}, {"rate", 0.1}});
        if (step == last + 2 && ::write(pipe[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char begun = 0;
    ASSERT_EQ(::read(pipe[0], &begun, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(97 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    last = RunLog(scratch.folder(), 1 << 30).last_step();
    const Steps steps = steps_of(scratch / "log.jsonl");
    ASSERT_EQ(static_cast<std::int64_t>(steps.size()), last + 1);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_EQ(steps[i], static_cast<std::int64_t>(i));
    }
  }
  EXPECT_GE(last, 39);
}

}  // namespace
}  // namespace causeway::train_test
