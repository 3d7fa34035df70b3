// Ctrl-C, SIGTERM and SIGHUP as a flag, in processes of their own.
#include "causeway/train/interrupt.h"

#include "tests/train/checkpoints.h"

#include <csignal>
#include <thread>
#include <vector>

namespace causeway::train_test {
namespace {

using train::Interrupt;

int n_own = 0;
void count_own(int) { ++n_own; }

TEST(Interrupt, TheFirstSignalSetsTheFlag) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(in_child([&] {
                ::signal(number, SIG_DFL);
                const Interrupt interrupt;
                if (interrupt.requested()) return 1;
                ::raise(number);
                return interrupt.requested() && interrupt.signal() == number ? 0 : 2;
              }),
              0);
  }
}

TEST(Interrupt, ASecondCtrlCEndsAtOnce) {
  for (const int first : {SIGINT, SIGTERM}) {
    EXPECT_EQ(in_child([&] {
                ::signal(SIGINT, SIG_DFL);
                ::signal(SIGTERM, SIG_DFL);
                const Interrupt interrupt;
                ::raise(first);
                ::raise(SIGTERM);  // however often it is asked
                ::raise(SIGTERM);
                if (interrupt.signal() != first) return 1;
                ::raise(SIGINT);
                return 2;
              }),
              130);
  }
}

TEST(Interrupt, RestoresHandlers) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGINT, count_own);
              ::signal(SIGTERM, count_own);
              {
                const Interrupt interrupt;
                ::raise(SIGINT);
                if (n_own != 0) return 1;
              }
              ::raise(SIGINT);
              ::raise(SIGTERM);
              if (n_own != 2) return 2;
              const Interrupt fresh;  // knows nothing of the one before
              return fresh.requested() ? 3 : 0;
            }),
            0);
  EXPECT_EQ(in_child([] {
              ::signal(SIGTERM, SIG_DFL);
              { const Interrupt interrupt; }
              ::raise(SIGTERM);
              return 0;
            }),
            -SIGTERM);
}

TEST(Interrupt, NestedObjectsShareTheFlag) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGINT, SIG_DFL);
              const Interrupt outer;
              {
                const Interrupt inner;
                ::raise(SIGINT);
                if (!inner.requested()) return 1;
              }
              return outer.requested() ? 0 : 2;
            }),
            0);
}

TEST(Interrupt, ObjectsInSeveralThreads) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGINT, count_own);
              {
                std::vector<std::thread> threads;
                for (int i = 0; i < 8; ++i) {
                  threads.emplace_back([] {
                    for (int round = 0; round < 2000; ++round) const Interrupt interrupt;
                  });
                }
                for (std::thread& thread : threads) thread.join();
              }
              ::raise(SIGINT);
              if (n_own != 1) return 1;
              const Interrupt outer;
              { const Interrupt inner; }
              ::raise(SIGINT);
              return outer.requested() && n_own == 1 ? 0 : 2;
            }),
            0);
}

TEST(Interrupt, IgnoredSignalsStayIgnored) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGINT, SIG_IGN);
              const Interrupt interrupt;
              ::raise(SIGINT);
              ::raise(SIGINT);
              return interrupt.requested() ? 1 : 0;
            }),
            0);
}

TEST(Interrupt, AClosedPipeDoesNotEndTheProcess) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGPIPE, SIG_DFL);
              int pipe[2];
              if (::pipe(pipe) != 0) return 1;
              ::close(pipe[0]);
              const Interrupt interrupt;
              return ::write(pipe[1], "x", 1) == -1 && !interrupt.requested() ? 0 : 2;
            }),
            0);
}

// A signal does not interrupt writes: a checkpoint that is being saved is completed.
TEST(Interrupt, ASaveIsNotInterrupted) {
  const Scratch scratch;
  EXPECT_EQ(in_child([&] {
              ::signal(SIGTERM, SIG_DFL);
              const Interrupt interrupt;
              const pid_t parent = ::getpid();
              const pid_t child = ::fork();
              if (child == 0) {
                while (::getppid() == parent && ::kill(parent, SIGTERM) == 0) ::usleep(50);
                ::_exit(0);
              }
              const CheckpointFolder folder(scratch.folder());
              std::int64_t step = 1;
              for (; step < 20; ++step) folder.save(checkpoint_of(step, 20'000));
              ::kill(child, SIGKILL);
              ::waitpid(child, nullptr, 0);
              if (!interrupt.requested()) return 1;
              return is_consistent(*folder.load_newest()) ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace causeway::train_test
