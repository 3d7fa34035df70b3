// Ranks that compute together. Every rank makes the same calls, in the same order, with tensors of
// one shape and dtype; where they differ, all ranks get an error. A group of one does nothing and
// needs nothing.
//
//   dist::Group group = dist::Group::from_environment();
//   group.broadcast(weights);                             // rank 0's, everywhere
//   dist::Pending pending = group.start_all_reduce(sums); // other work here
//   pending.wait();
//
// Tensors of the CPU go through MPI under mpirun and through TCP otherwise, those of a GPU through
// NCCL. All ranks get the same bits; on the CPU the ranks' values are combined in rank order, so
// that these never depend on timing.
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

namespace causeway::dist {

// `mean` is of floating types; `max` keeps NaN on the CPU.
enum class Reduction : std::uint8_t { sum, mean, max };

struct Timeouts {
  std::chrono::milliseconds join{120'000};        // until all ranks have come
  std::chrono::milliseconds collective{600'000};  // until all ranks have made the same call
};

// Seconds from CAUSEWAY_DIST_JOIN_TIMEOUT and CAUSEWAY_DIST_TIMEOUT where those are set.
Timeouts read_timeouts();

// A collective under way. Its tensor must not be touched before wait() has returned.
class Pending {
 public:
  Pending() = default;  // one that is done
  explicit Pending(std::function<void()> finish) : finish_(std::move(finish)) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = default;

  // From here on the tensor holds the result. On the CPU this blocks; on a GPU the current stream
  // waits and the host does not. Throws distributed errors.
  void wait() {
    if (finish_) std::exchange(finish_, nullptr)();
  }

 private:
  std::function<void()> finish_;
};

class Group {
 public:
  Group();  // of one
  // Meets the other ranks. Throws distributed errors, such as where some do not come in time.
  explicit Group(const Launch& launch, const Timeouts& timeouts = {});
  static Group from_environment() { return Group(read_launch(), read_timeouts()); }
  // Finishes what was started. Destroyed by an error, it tells the others at once.
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

  // Overwrites x by that of rank `root`; contiguous, of any dtype.
  Pending start_broadcast(const Tensor& x, int root = 0);
  void broadcast(const Tensor& x, int root = 0) { start_broadcast(x, root).wait(); }

  // Returns when every rank has called it.
  void barrier();

  // What every rank gave, in rank order; meant for little. Texts may differ in length.
  std::vector<std::string> all_gather(std::string_view bytes);
  std::vector<double> all_gather(double value);
  std::vector<std::int64_t> all_gather(std::int64_t value);

  // Throws where another rank is lost or a collective went wrong. Costs nothing: a loop that
  // replays graphs, and so makes no calls here, asks once a step.
  void check() const;

 private:
  struct State;
  Launch launch_;
  std::unique_ptr<State> state_;  // none in a group of one
};

}  // namespace causeway::dist
