// Saving checkpoints under faults: killed writers, full disks, concurrent writers.
#include "causeway/core/folder_writer.h"
#include "tests/train/checkpoints.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

namespace causeway::train_test {
namespace {

constexpr std::int64_t kSize = 50'000;  // 600 kB per checkpoint

std::size_t n_partial(const std::filesystem::path& folder) {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    n += entry.path().filename().string().starts_with(".partial-") ? 1 : 0;
  }
  return n;
}

// Saves in a loop, steps upwards from `step`, and reports each save through the pipe.
[[noreturn]] void save_until_killed(const CheckpointFolder& folder, std::int64_t step, int pipe) {
  for (;; ++step) {
    const Checkpoint checkpoint = checkpoint_of(step, kSize);
    // Every third step is saved twice, which exchanges folders.
    for (int i = 0; i < (step % 3 == 0 ? 2 : 1); ++i) {
      if (::write(pipe, "x", 1) != 1) ::_exit(1);
      folder.save(checkpoint);
    }
  }
}

// Kills a writer within one of its first saves; how long one takes is known.
void save_and_kill(const CheckpointFolder& folder, std::int64_t step, std::mt19937& random,
                   std::chrono::microseconds save_time) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) save_until_killed(folder, step, pipe[1]);
  const auto n_begun = 1 + random() % 5;
  for (std::size_t i = 0; i < n_begun; ++i) {
    char begun = 0;
    ASSERT_EQ(::read(pipe[0], &begun, 1), 1);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(
      random() % static_cast<std::uint64_t>(std::max<std::int64_t>(save_time.count(), 1))));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself, " << WEXITSTATUS(status);
}

TEST(CheckpointFault, AKillAtAnyMomentLeavesACompleteCheckpoint) {
  using Clock = std::chrono::steady_clock;
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 2});
  const Clock::time_point start = Clock::now();
  for (const std::int64_t step : {1, 2, 2, 2}) folder.save(checkpoint_of(step, kSize));
  const auto save_time =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start) / 4;
  std::mt19937 random(1);
  std::int64_t newest = 2;
  int n_left_behind = 0;
  for (int round = 0; round < 50; ++round) {
    save_and_kill(folder, newest, random, save_time);
    ASSERT_FALSE(HasFatalFailure());
    n_left_behind += n_partial(folder.path()) > 0 ? 1 : 0;
    testing::internal::CaptureStderr();
    const std::optional<Checkpoint> found = folder.load_newest();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << round;  // nothing was skipped
    ASSERT_TRUE(found.has_value()) << round;
    ASSERT_TRUE(is_consistent(*found)) << round;
    ASSERT_GE(found->step, newest) << round;
    newest = found->step;
  }
  EXPECT_GT(n_left_behind, 5) << "the kills missed the saves";
  EXPECT_GT(newest, 5);
  folder.save(checkpoint_of(newest + 1, kSize));
  EXPECT_EQ(n_partial(folder.path()), 0u);
  EXPECT_EQ(n_entries(folder.path()), 2u);
}

TEST(CheckpointFault, RemovesLeftoversOfDeadWritersOnly) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  ASSERT_EQ(in_child([&] {
              auto* writer = new FolderWriter("save", folder.path() / "step-00000009");
              put(writer->partial() / "model.safetensors", "half");
              return 0;  // without its destructor, as if it were killed
            }),
            0);
  FolderWriter at_work("save", folder.path() / "step-00000008");
  EXPECT_EQ(n_partial(folder.path()), 1u);  // it took the first one away
  put(at_work.partial() / "file", "text");
  folder.save(checkpoint_of(1));
  EXPECT_EQ(in_child([&] {
              folder.save(checkpoint_of(2));
              return 0;
            }),
            0);
  EXPECT_EQ(n_partial(folder.path()), 1u);
  at_work.commit();
  EXPECT_EQ(contents(folder.path() / "step-00000008/file"), "text");
  EXPECT_EQ(n_partial(folder.path()), 0u);
}

TEST(CheckpointFault, WithoutACommitNothingIsLeft) {
  const Scratch scratch;
  {
    const FolderWriter writer("save", scratch / "x");
    put(writer.partial() / "file", "text");
    EXPECT_EQ(scratch.n_files(), 1u);
  }
  EXPECT_EQ(scratch.n_files(), 0u);
}

TEST(CheckpointFault, ConcurrentWritersDoNotInterfere) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder(), {.keep_last = 2});
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    int failures = 0;
    for (std::int64_t step = 1; step <= 25; ++step) {  // the same steps in each
      failures += failure([&] { folder.save(checkpoint_of(step, 1000)); }).empty() ? 0 : 1;
    }
    ::_exit(failures);
  }
  std::size_t n_loads = 0;
  int status = 0;
  for (const pid_t child : children) {
    while (::waitpid(child, &status, WNOHANG) == 0) {
      testing::internal::CaptureStderr();
      const std::optional<Checkpoint> found = folder.load_newest();
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
      EXPECT_TRUE(!found || is_consistent(*found));
      ++n_loads;
    }
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_GT(n_loads, 0u);
  EXPECT_EQ(folder.load_newest()->step, 25);
  EXPECT_TRUE(is_consistent(*folder.load_newest()));
  folder.save(checkpoint_of(26));
  EXPECT_EQ(steps_in(folder), (std::vector<std::int64_t>{25, 26}));
  EXPECT_EQ(n_entries(folder.path()), 2u);
}

// Fills the disk until a save fails: the old checkpoints stay, no temporary files remain, and
// saving works again once there is space.
int fill_and_recover(const CheckpointFolder& folder, const std::string& reason,
                     const std::function<void()>& make_full,
                     const std::function<void()>& make_room) {
  folder.save(checkpoint_of(1, kSize));
  make_full();
  const std::string message = failure([&] { folder.save(checkpoint_of(2, kSize)); });
  if (!says(message, "io: [checkpoint.save] cannot write \"", reason)) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return 1;
  }
  if (n_entries(folder.path()) != 1) return 2;
  if (!is_consistent(*folder.load_newest())) return 3;
  make_room();
  folder.save(checkpoint_of(3, kSize));
  return is_consistent(*folder.load_newest()) && folder.load_newest()->step == 3 ? 0 : 4;
}

TEST(CheckpointFault, AFileSizeLimitLeavesTheOldOnes) {
  const Scratch scratch;
  const CheckpointFolder folder(scratch.folder());
  const auto limit_files = [](rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{300'000}}) {
    EXPECT_EQ(in_child([&] {
                ::signal(SIGXFSZ, SIG_IGN);  // whose default ends the process
                return fill_and_recover(
                    folder, "File too large", [&] { limit_files(bytes); },
                    [&] { limit_files(RLIM_INFINITY); });
              }),
              0)
        << bytes;
    std::filesystem::remove_all(folder.path());
  }
}

// Mounts a file system of 1 MB in a namespace of the child. False if the system does not allow
// that.
bool mount_small(const std::filesystem::path& path) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST(CheckpointFault, AFullDiskLeavesTheOldOnes) {
  constexpr int kNotAllowed = 77;
  const Scratch scratch;
  const int code = in_child([&] {
    if (!mount_small(scratch.folder())) return kNotAllowed;
    const CheckpointFolder folder(scratch.folder());
    const std::filesystem::path filler = scratch / "filler";
    return fill_and_recover(
        folder, "No space left on device; free disk space",
        [&] { put(filler, std::string(300'000, 'x')); },
        [&] {
          std::filesystem::remove(filler);
          std::filesystem::remove_all(folder.path() / "step-00000001");
        });
  });
  if (code == kNotAllowed) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace causeway::train_test
