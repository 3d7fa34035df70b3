// The communication thread with a fake transport and fake GPU collectives.
#include "causeway/dist/worker.h"
#include "causeway/dist/device_choice.h"

#include <gtest/gtest.h>

namespace causeway::dist {
namespace {

using namespace std::chrono_literals;

// Rank 1 of 2 is lost when `lost` is set.
class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(std::atomic<bool>& lost) : Transport(two_ranks(), {}), lost_(lost) {}

  void exchange(const Outgoing&, const Incoming&) override { check(); }
  void check() override {
    if (lost_) fail(ErrorKind::distributed, "group", "rank 1 is lost");
  }
  void leave(const std::string&) noexcept override {}

 private:
  static Launch two_ranks() {
    Launch launch;
    launch.size = 2;
    return launch;
  }
  std::atomic<bool>& lost_;
};

// Its abort blocks as long as a graph that captured a collective exists, like NCCL's.
class FakeCollectives final : public DeviceCollectives {
 public:
  Pending all_reduce(const Tensor&, Reduction) override { return {}; }
  Pending broadcast(const Tensor&, int) override { return {}; }
  Pending reduce_scatter(const Tensor&, Reduction) override { return {}; }
  Pending all_gather(const Tensor&) override { return {}; }
  std::string fault() override { return fault_ ? "ncclRemoteError" : ""; }
  void abort() noexcept override {
    aborting = true;
    graphs_gone.get_future().wait();
    aborted = true;
  }

  std::promise<void> graphs_gone;
  std::atomic<bool> fault_ = false;
  std::atomic<bool> aborting = false;
  std::atomic<bool> aborted = false;
};

struct Fakes {
  std::atomic<bool> lost = false;
  std::shared_ptr<FakeCollectives> device = std::make_shared<FakeCollectives>();
  Worker worker{[this] { return std::make_unique<FakeTransport>(lost); }};

  Fakes() { worker.watch(device); }

  // Whether the worker notices the failure within a second.
  bool fails() const {
    for (int i = 0; i < 100; ++i, std::this_thread::sleep_for(10ms)) {
      try {
        worker.check();
      } catch (const Error&) {
        return true;
      }
    }
    return false;
  }
};

void exchange(Transport& transport) { transport.exchange({}, {}); }

TEST(Worker, AWaitingCallerGetsTheErrorWhileTheAbortBlocks) {
  Fakes fakes;
  fakes.lost = true;
  std::future<void> barrier = fakes.worker.run(exchange);
  ASSERT_EQ(barrier.wait_for(2s), std::future_status::ready);
  EXPECT_THROW(barrier.get(), Error);
  // Later calls fail too, and do not wait.
  std::future<void> next = fakes.worker.run(exchange);
  ASSERT_EQ(next.wait_for(2s), std::future_status::ready);
  EXPECT_THROW(next.get(), Error);
  EXPECT_FALSE(fakes.device->aborted);
  fakes.device->graphs_gone.set_value();  // the caller destroys its graphs
}

TEST(Worker, ATaskIsReleasedBeforeItsCallerResumes) {
  Fakes fakes;
  const auto held = std::make_shared<int>();
  for (int i = 0; i < 100; ++i) {
    fakes.worker.run([held](Transport&) {}).get();
    EXPECT_EQ(held.use_count(), 1);
  }
}

TEST(Worker, AbortsWhenAPeerIsLostBetweenCalls) {
  Fakes fakes;
  fakes.lost = true;
  EXPECT_TRUE(fakes.fails());
  for (int i = 0; i < 100 && !fakes.device->aborting; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(fakes.device->aborting);
  fakes.device->graphs_gone.set_value();
}

TEST(Worker, GivingUpDoesNotWaitForTheAbort) {
  Fakes fakes;
  std::future<void> done = std::async(std::launch::async, [&] { fakes.worker.give_up("stop"); });
  const bool returned = done.wait_for(2s) == std::future_status::ready;
  fakes.device->graphs_gone.set_value();
  EXPECT_TRUE(returned);
}

TEST(Worker, FaultsOfTheDeviceAreErrors) {
  Fakes fakes;
  fakes.device->fault_ = true;
  EXPECT_TRUE(fakes.fails());
  fakes.device->graphs_gone.set_value();
}

TEST(Worker, ReportsTheFirstFailureOnce) {
  std::vector<std::string> reports;
  {
    Fakes fakes;
    fakes.worker.on_failure([&](const Error& error) { reports.push_back(error.message()); });
    fakes.lost = true;
    std::future<void> first = fakes.worker.run(exchange);
    EXPECT_THROW(first.get(), Error);
    EXPECT_EQ(reports.size(), 1u);  // before the caller gets the error
    EXPECT_THROW(fakes.worker.run(exchange).get(), Error);
    fakes.device->graphs_gone.set_value();
  }
  EXPECT_EQ(reports, std::vector<std::string>({"[group] rank 1 is lost"}));
}

TEST(RankDevice, TwoRanksOnOneGpuAreRefused) {
  require_distinct_gpus({"GPU-1", "GPU-2", "GPU-3"});
  require_distinct_gpus({"", "", ""});  // on the CPU
  try {
    require_distinct_gpus({"GPU-1", "GPU-2", "GPU-1"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("ranks 0 and 2 would use the same GPU GPU-1"), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace causeway::dist
