// Collectives by NCCL with a non-blocking communicator: no call blocks indefinitely, and another
// thread can abort a collective that hangs because a rank is gone.
#include "causeway/dist/nccl.h"

#include "causeway/core/error.h"
#include "causeway/dist/nccl_library.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/graph.h"

#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace causeway::dist {

namespace {

using std::chrono::steady_clock;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return ncclFloat64;
    case DType::f32: return ncclFloat32;
    case DType::bf16: return ncclBfloat16;
    case DType::i64: return ncclInt64;
    default: fail(ErrorKind::internal, "nccl", "unexpected dtype");
  }
}

ncclRedOp_t operation_of(Reduction how) {
  switch (how) {
    case Reduction::mean: return ncclAvg;
    case Reduction::max: return ncclMax;
    default: return ncclSum;
  }
}

// A collective in progress: keeps the tensor alive until a stream has been made to wait for it.
class Flight {
 public:
  Flight(Tensor tensor, std::shared_ptr<Event> done, StreamView stream)
      : tensor_(std::move(tensor)), done_(std::move(done)), stream_(stream) {}
  ~Flight() {
    if (!joined_) tensor_.storage()->buffer.used_on(stream_);
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  void join(StreamView current) {
    current.wait(*done_);
    tensor_.storage()->buffer.used_on(current);
    joined_ = true;
  }

 private:
  Tensor tensor_;
  std::shared_ptr<Event> done_;
  StreamView stream_;
  bool joined_ = false;
};

class Nccl final : public DeviceCollectives {
 public:
  Nccl(const DeviceRank& place, const std::function<std::string(std::string)>& share,
       std::function<void()> check, const Timeouts& timeouts)
      : place_(place), check_(std::move(check)), timeouts_(timeouts), stream_(place.device) {
    ncclUniqueId id{};
    std::string failure;
    if (place.rank == 0) {
      try {
        const ncclResult_t status = nccl().ncclGetUniqueId(&id);
        if (status != ncclSuccess) failure = nccl().ncclGetErrorString(status);
      } catch (const Error& error) {
        failure = error.message();
      }
    }
    // If rank 0 failed it shares an empty id, so that the others do not wait for it.
    const std::string shared =
        share(failure.empty() ? std::string(id.internal, sizeof(id.internal)) : "");
    if (shared.size() != sizeof(id.internal)) {
      fail(ErrorKind::distributed, "group",
           failure.empty() ? "rank 0 could not start NCCL; see its output" : failure);
    }
    std::memcpy(id.internal, shared.data(), shared.size());
    try {
      issue("ncclCommInitRank", timeouts.join, [&] {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        return nccl().ncclCommInitRankConfig(&ranks_, place.size, id, place.rank, &config);
      });
    } catch (...) {
      abort();
      throw;
    }
  }

  ~Nccl() override {
    try {
      if (!aborted_) {
        issue("ncclCommFinalize", std::chrono::seconds(10),
              [&] { return nccl().ncclCommFinalize(ranks_); });
        const std::lock_guard lock(mutex_);
        nccl().ncclCommDestroy(ranks_);
        aborted_ = true;
      }
    } catch (const Error&) {
      abort();  // the other ranks are gone
    }
  }

  Pending all_reduce(const Tensor& x, Reduction how) override {
    return start("ncclAllReduce", x, [&] {
      return nccl().ncclAllReduce(x.data(), x.data(), static_cast<std::size_t>(x.numel()),
                                  type_of(x.dtype()), operation_of(how), ranks_,
                                  stream_.view().handle());
    });
  }

  Pending broadcast(const Tensor& x, int root) override {
    return start("ncclBroadcast", x, [&] {
      return nccl().ncclBroadcast(x.data(), x.data(), x.n_bytes(), ncclUint8, root, ranks_,
                                  stream_.view().handle());
    });
  }

  Pending reduce_scatter(const Tensor& x, Reduction how) override {
    return start("ncclReduceScatter", x, [&] {
      const auto count = static_cast<std::size_t>(x.numel() / place_.size);
      std::byte* mine = x.data() + own_part(x);
      return nccl().ncclReduceScatter(x.data(), mine, count, type_of(x.dtype()), operation_of(how),
                                      ranks_, stream_.view().handle());
    });
  }

  Pending all_gather(const Tensor& x) override {
    return start("ncclAllGather", x, [&] {
      const auto bytes = x.n_bytes() / static_cast<std::size_t>(place_.size);
      return nccl().ncclAllGather(x.data() + own_part(x), x.data(), bytes, ncclUint8, ranks_,
                                  stream_.view().handle());
    });
  }

  std::string fault() override {
    const std::lock_guard lock(mutex_);
    if (aborted_) return "";
    ncclResult_t status = ncclSuccess;
    nccl().ncclCommGetAsyncError(ranks_, &status);
    if (status != ncclSuccess && status != ncclInProgress) return describe(status);
    while (!under_way_.empty() && under_way_.front().done->done()) under_way_.pop_front();
    if (under_way_.empty()) return "";
    const Watched& oldest = under_way_.front();
    if (steady_clock::now() - oldest.begin < timeouts_.collective) return "";
    return timeout_message(oldest.call, timeouts_.collective);
  }

  void abort() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(aborted_, true)) return;
      under_way_.clear();
    }
    // ncclCommAbort waits for the graphs that captured a collective. Without the lock their owner
    // gets an error from its next call and can destroy them.
    if (ranks_ != nullptr) nccl().ncclCommAbort(ranks_);
  }

 private:
  // Byte offset of this rank's part.
  std::size_t own_part(const Tensor& x) const {
    return x.n_bytes() / static_cast<std::size_t>(place_.size) *
           static_cast<std::size_t>(place_.rank);
  }

  struct Watched {
    std::shared_ptr<Event> done;
    steady_clock::time_point begin;
    const char* call;
  };

  template <class Call>
  Pending start(const char* name, const Tensor& x, const Call& call) {
    if (x.numel() == 0) return {};
    const StreamView stream = stream_;
    stream.wait(current_stream(place_.device));
    issue(name, timeouts_.collective, call);
    auto done = std::make_shared<Event>(place_.device);
    done->record(stream);
    // A captured collective runs when the graph is replayed: there is nothing to monitor now.
    if (!capturing()) {
      const std::lock_guard lock(mutex_);
      under_way_.push_back({done, steady_clock::now(), name});
    }
    auto flight = std::make_shared<Flight>(x, std::move(done), stream);
    return Pending([this, flight] {
      check_();
      flight->join(current_stream(place_.device));
    });
  }

  // Makes a call and waits until NCCL has queued it, not until the device has finished it.
  template <class Call>
  void issue(const char* name, std::chrono::milliseconds limit, const Call& call) {
    const driver::DeviceScope scope(place_.device.index);
    const auto begin = steady_clock::now();
    ncclResult_t status = guarded(call);
    while (status == ncclInProgress) {
      check_();
      if (steady_clock::now() - begin > limit) {
        fail(ErrorKind::distributed, "nccl", timeout_message(name, limit));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(10));
      status = guarded([&] {
        ncclResult_t now = ncclSuccess;
        const ncclResult_t asked = nccl().ncclCommGetAsyncError(ranks_, &now);
        return asked == ncclSuccess ? now : asked;
      });
    }
    if (status != ncclSuccess) fail(ErrorKind::distributed, name, describe(status));
  }

  template <class Call>
  ncclResult_t guarded(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (aborted_) {
      fail(ErrorKind::distributed, "nccl", "collectives were aborted after an error");
    }
    return call();
  }

  std::string describe(ncclResult_t status) const {
    return fmt::format("{}: {}", nccl().ncclGetErrorString(status),
                       nccl().ncclGetLastError(ranks_));
  }

  std::string timeout_message(const char* call, std::chrono::milliseconds limit) const {
    return fmt::format(
        "{} of rank {} timed out after {:g} s; another rank may hang or compute "
        "something else: see their output, or increase CAUSEWAY_DIST_TIMEOUT",
        call, place_.rank, std::chrono::duration<double>(limit).count());
  }

  DeviceRank place_;
  std::function<void()> check_;
  Timeouts timeouts_;
  Stream stream_;
  std::mutex mutex_;  // held during every NCCL call except ncclCommAbort
  ncclComm_t ranks_ = nullptr;
  bool aborted_ = false;
  std::deque<Watched> under_way_;
};

}  // namespace

std::shared_ptr<DeviceCollectives> connect_nccl(
    const DeviceRank& place, const std::function<std::string(std::string)>& share,
    const std::function<void()>& check, const Timeouts& timeouts) {
  return std::make_shared<Nccl>(place, share, check, timeouts);
}

}  // namespace causeway::dist
