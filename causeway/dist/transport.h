// How bytes move between ranks: one operation, in which every rank gives something to every other.
// All collectives of the CPU are made of it. tcp.cpp and mpi.cpp implement it; a build without MPI
// takes no_mpi.cpp.
#pragma once

#include "causeway/core/library.h"
#include "causeway/dist/group.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::dist {

// One stretch of bytes for each rank; this rank's own is not looked at, an empty one is not sent.
using Outgoing = std::vector<std::span<const std::byte>>;
using Incoming = std::vector<std::span<std::byte>>;

// One thread makes, uses and destroys it; another may interrupt it. Every error is a distributed
// one and ends its use.
class Transport {
 public:
  virtual ~Transport() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends out[r] to each rank r and receives in[r] from it. The sizes are what the other side
  // expects: the ranks have agreed on them.
  virtual void exchange(const Outgoing& out, const Incoming& in) = 0;
  // Between exchanges: throws where another rank is lost.
  virtual void check() = 0;
  // The last call. `failure` is empty, or goes to the other ranks as the reason why this one ends.
  virtual void leave(const std::string& failure) noexcept = 0;

  // An exchange that is waiting for others throws, within a second.
  void interrupt() { interrupted_ = true; }

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}

  // While an exchange waits since `begin` for `ranks`: throws where it was interrupted or took too
  // long.
  void check_waiting(std::chrono::steady_clock::time_point begin, std::chrono::milliseconds limit,
                     const std::string& ranks) const;

 private:
  int rank_;
  int size_;
  std::atomic<bool> interrupted_ = false;
};

std::unique_ptr<Transport> connect_tcp(const Launch& launch, const Timeouts& timeouts);
std::unique_ptr<Transport> connect_mpi(const Launch& launch, const Timeouts& timeouts);

// The library's version and file, or why there is none.
LibraryStatus mpi_status();

}  // namespace causeway::dist
