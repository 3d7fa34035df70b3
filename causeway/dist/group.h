// A group of ranks that compute together. Every rank must make the same calls in the same order,
// with tensors of one shape and dtype; otherwise all ranks get an error. A group of one does
// nothing and needs no setup.
//
//   dist::Group group = dist::Group::from_environment();
//   group.broadcast(weights);                             // from rank 0
//   dist::Pending pending = group.start_all_reduce(sums); // other work here
//   pending.wait();
//
// CPU tensors use MPI under mpirun and TCP otherwise, GPU tensors use NCCL. All ranks get the same
// bits; on the CPU values are combined in rank order, so that results do not depend on timing.
#pragma once

#include "causeway/dist/launch.h"
#include "causeway/tensor/tensor.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causeway {
class Error;
}

namespace causeway::dist {

class DeviceCollectives;
class Transport;
struct Call;

// `mean` is for floating types; `max` propagates NaN on the CPU.
enum class Reduction : std::uint8_t { sum, mean, max };

struct Timeouts {
  std::chrono::milliseconds join{120'000};        // until all ranks have joined
  std::chrono::milliseconds collective{600'000};  // until all ranks have made the same call
  // Without a heartbeat of a rank that others wait for: it is then lost, for example stopped. A
  // warning after a third of it. A thread of each rank sends them, also while others compute.
  std::chrono::milliseconds alive{45'000};
};

// Reads CAUSEWAY_DIST_JOIN_TIMEOUT, CAUSEWAY_DIST_TIMEOUT and CAUSEWAY_DIST_ALIVE_TIMEOUT in
// seconds; the defaults above if unset.
Timeouts read_timeouts();

// A collective in progress. Do not access its tensor before wait() has returned.
class Pending {
 public:
  Pending() = default;  // already complete
  explicit Pending(std::function<void()> finish) : finish_(std::move(finish)) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = default;

  // Afterwards the tensor holds the result. On the CPU this blocks; on a GPU only the current
  // stream waits. Throws distributed errors.
  void wait() {
    if (finish_) std::exchange(finish_, nullptr)();
  }

 private:
  std::function<void()> finish_;
};

class Group {
 public:
  Group();  // a group of one
  // Connects to the other ranks. Throws distributed errors, for example if some do not join in
  // time.
  explicit Group(const Launch& launch, const Timeouts& timeouts = {});
  static Group from_environment() { return Group(read_launch(), read_timeouts()); }
  // Completes pending collectives. When destroyed during stack unwinding, it notifies the other
  // ranks immediately.
  ~Group();
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;

  int rank() const { return launch_.rank; }
  int size() const { return launch_.size; }
  int local_rank() const { return launch_.local_rank; }

  // In place, over all ranks; contiguous f32, f64, bf16 and i64.
  Pending start_all_reduce(const Tensor& x, Reduction how = Reduction::sum);
  void all_reduce(const Tensor& x, Reduction how = Reduction::sum) {
    start_all_reduce(x, how).wait();
  }

  // For a flat x of size() equal parts, of which rank r owns part r. After reduce_scatter this
  // rank's part is the reduction over all ranks and the others are unspecified; all_gather sends
  // every rank's part to all. In place; the dtypes of all_reduce, and any dtype.
  Pending start_reduce_scatter(const Tensor& x, Reduction how = Reduction::sum);
  Pending start_all_gather(const Tensor& x);

  // Overwrites x with that of rank `root`; contiguous, any dtype.
  Pending start_broadcast(const Tensor& x, int root = 0);
  void broadcast(const Tensor& x, int root = 0) { start_broadcast(x, root).wait(); }

  // Returns when every rank has called it.
  void barrier();

  // The values of all ranks, in rank order; for small data. Texts may differ in length.
  std::vector<std::string> all_gather(std::string_view bytes);
  std::vector<double> all_gather(double value);
  std::vector<std::int64_t> all_gather(std::int64_t value);

  // Throws if another rank is lost or a collective failed. Cheap: loops that replay CUDA graphs,
  // and make no calls here, call it once per step.
  void check() const;
  // Calls `report` from another thread as soon as another rank is lost or a collective fails, also
  // while this rank computes; null stops that.
  void on_failure(std::function<void(const Error&)> report);

 private:
  struct State;
  Pending start(const Call& call, const Tensor& x, std::function<void(Transport&)> on_cpu,
                const std::function<Pending(DeviceCollectives&)>& on_device);

  Launch launch_;
  std::unique_ptr<State> state_;  // null in a group of one
};

}  // namespace causeway::dist
