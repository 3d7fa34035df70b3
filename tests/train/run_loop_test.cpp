// The loop of training runs, with a job that takes no time: log lines, checkpoints by time, full
// disks, signals.
#include "causeway/train/run_loop.h"

#include "causeway/core/file.h"
#include "causeway/core/interrupt.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/matmul.h"
#include "tests/tensor/devices.h"
#include "tests/train/checkpoints.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <functional>
#include <sstream>
#include <thread>

namespace causeway::train_test {
namespace {

using train::LoopOptions;

// Its weight is the number of steps.
class Counter final : public train::TrainingJob {
 public:
  Device device() const override { return on; }
  std::int64_t step() const override { return step_; }
  void advance() override {
    if (on_step) on_step(step_ + 1);
    ++step_;
  }
  Progress progress() override {
    current_stream(on).synchronize();
    return {static_cast<double>(step_), 1};
  }
  std::vector<NamedNumber> rates(double, std::int64_t) override { return {}; }
  std::optional<double> score() override { return scored; }
  void report(const train::LoopLine& line) override { reported.push_back(line.step); }
  void report_checkpoint(std::int64_t step, const std::filesystem::path& folder) override {
    EXPECT_TRUE(std::filesystem::exists(folder / "manifest.json")) << folder;
    saved.push_back(step);
  }
  Checkpoint checkpoint() override { return checkpoint_of(step_); }
  void restore(const Checkpoint& checkpoint) override { step_ = checkpoint.step; }
  void save_model(const std::filesystem::path& folder) override {
    if (on_model) on_model();
    put(folder / "model.txt", std::to_string(step_));
  }

  Device on = Device::cpu();
  std::function<void(std::int64_t)> on_step;
  std::function<void()> on_model;
  std::optional<double> scored;
  std::vector<std::int64_t> reported;
  std::vector<std::int64_t> saved;

 private:
  std::int64_t step_ = 0;
};

LoopOptions options_in(const Scratch& scratch, std::int64_t steps) {
  LoopOptions options;
  options.operation = "test";
  options.folder = scratch / "run";
  options.config.steps = steps;
  return options;
}

std::vector<std::int64_t> logged_steps(const Scratch& scratch) {
  std::vector<std::int64_t> steps;
  std::istringstream lines(contents(scratch / "run/log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    steps.push_back(nlohmann::json::parse(line).at("step"));
  }
  return steps;
}

using Steps = std::vector<std::int64_t>;

TEST(RunLoop, TheLastStepIsLoggedOnceWithItsScore) {
  const Scratch scratch;
  Counter job;
  job.scored = 0.5;
  dist::Group group;
  LoopOptions options = options_in(scratch, 6);
  options.config.log_steps = 2;
  const auto result = run_loop(job, group, options);
  EXPECT_EQ(result.last.score, 0.5);
  EXPECT_EQ(job.reported, (Steps{2, 4, 6}));
  EXPECT_EQ(logged_steps(scratch), (Steps{2, 4, 6}));
}

TEST(RunLoop, SavesByTimeUnlessStepsAreGiven) {
  const auto steps_saved = [](std::int64_t save_steps) {
    const Scratch scratch;
    Counter job;
    job.on_step = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    dist::Group group;
    LoopOptions options = options_in(scratch, 30);
    options.config.save_steps = save_steps;
    options.config.save_seconds = 0.1;
    options.config.keep = 100;
    run_loop(job, group, options);
    return steps_in(CheckpointFolder(options.folder));
  };
  const Steps by_time = steps_saved(0);
  EXPECT_GE(by_time.size(), 2u);  // saves take at most 1% of the time, which bounds their number
  EXPECT_LE(by_time.size(), 8u);
  EXPECT_EQ(steps_saved(10), (Steps{10, 20, 30}));
}

TEST(RunLoop, ReportsCheckpointsOnceTheyAreWritten) {
  const Scratch scratch;
  LoopOptions options = options_in(scratch, 30);
  options.config.save_steps = 10;
  dist::Group group;
  const auto saved = [&] {
    Counter job;  // its steps take less time than a write
    run_loop(job, group, options);
    return job.saved;
  };
  EXPECT_EQ(saved(), (Steps{10, 20, 30}));
  options.config.steps = 35;
  options.resume = true;
  EXPECT_EQ(saved(), (Steps{35}));
}

[[noreturn]] void fail_full() { fail_io("test", "write", "model.txt", ENOSPC); }

TEST(RunLoop, OldCheckpointsMakeRoomOnAFullDisk) {
  const Scratch scratch;
  Counter job;
  int n_fails = 2;
  job.on_model = [&] {
    if (n_fails-- > 0) fail_full();
  };
  dist::Group group;
  LoopOptions options = options_in(scratch, 6);
  options.config.save_steps = 2;
  testing::internal::CaptureStderr();
  run_loop(job, group, options);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("removed the checkpoint of step 2 and trying again"), said.npos) << said;
  EXPECT_NE(said.find("removed the checkpoint of step 4"), said.npos) << said;
  EXPECT_EQ(steps_in(CheckpointFolder(options.folder)), (Steps{6}));  // the newest stays
  EXPECT_EQ(contents(options.folder / "model.txt"), "6");
}

TEST(RunLoop, TheNewestCheckpointIsNeverRemoved) {
  const Scratch scratch;
  Counter job;
  job.on_model = fail_full;
  dist::Group group;
  LoopOptions options = options_in(scratch, 6);
  options.config.save_steps = 2;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(says(failure([&] { run_loop(job, group, options); }), "io: [test] cannot write"));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(steps_in(CheckpointFolder(options.folder)), (Steps{6}));
}

TEST(RunLoop, AnInterruptedStepIsNotTaken) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Scratch scratch;
    Counter job;
    job.on_step = [&](std::int64_t step) {
      if (step != 5) return;
      ::raise(number);
      const Interruptible work;
      check_interrupt();
    };
    dist::Group group;
    const auto result = run_loop(job, group, options_in(scratch, 100));
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.last.step, 4);
    EXPECT_EQ(logged_steps(scratch), (Steps{4}));
    EXPECT_EQ(steps_in(CheckpointFolder(scratch / "run")), (Steps{4}));
    EXPECT_EQ(contents(scratch / "run/model.txt"), "4");
    EXPECT_FALSE(interrupt_requested());
  }
}

// Steps of about 50 ms on a GPU. Without a bound on the queue, the signal would wait for all of
// them.
TEST(GpuRunLoop, ASignalWaitsForFewQueuedSteps) {
  CAUSEWAY_REQUIRE_GPU();
  const Scratch scratch;
  Counter job;
  job.on = Device::cuda();
  const Tensor x = ones({8192, 8192}, DType::f32, job.on);
  std::chrono::steady_clock::time_point sent;
  job.on_step = [&](std::int64_t step) {
    for (int i = 0; i < 4; ++i) matmul(x, x);
    if (step != 50) return;
    sent = std::chrono::steady_clock::now();
    ::raise(SIGTERM);
  };
  dist::Group group;
  LoopOptions options = options_in(scratch, 1000);
  options.config.log_steps = 1000;
  EXPECT_TRUE(run_loop(job, group, options).interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(2));
}

}  // namespace
}  // namespace causeway::train_test
