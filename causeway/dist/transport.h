// The transport of bytes between ranks: one all-to-all operation that all CPU collectives are built
// on. Implemented by tcp.cpp and mpi.cpp; builds without MPI use no_mpi.cpp.
#pragma once

#include "causeway/core/library.h"
#include "causeway/dist/group.h"
#include "causeway/dist/launch.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::dist {

// One buffer per rank; the own one is ignored, empty ones are not sent.
using Outgoing = std::vector<std::span<const std::byte>>;
using Incoming = std::vector<std::span<std::byte>>;

// Created, used and destroyed by one thread; another may interrupt it. Every error is a distributed
// error after which it cannot be used.
class Transport {
 public:
  virtual ~Transport() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends out[r] to each rank r and receives in[r] from it. The sizes must match on both sides.
  virtual void exchange(const Outgoing& out, const Incoming& in) = 0;
  // Between exchanges: throws if another rank is lost.
  virtual void check() = 0;
  // The last call. `failure` is empty, or the reason that is sent to the other ranks.
  virtual void leave(const std::string& failure) noexcept = 0;

  // Makes a waiting exchange throw within a second.
  void interrupt() { interrupted_ = true; }

 protected:
  using Clock = std::chrono::steady_clock;
  // Between heartbeats that every rank sends, also while its other threads compute.
  static constexpr std::chrono::milliseconds kBeatInterval{1000};

  Transport(const Launch& launch, const Timeouts& timeouts)
      : rank_(launch.rank),
        size_(launch.size),
        timeouts_(timeouts),
        last_heartbeats_(static_cast<std::size_t>(launch.size)),
        warned_(static_cast<std::size_t>(launch.size)) {}

  // A heartbeat of rank r has arrived.
  void note_heartbeat(std::size_t r) {
    last_heartbeats_[r] = Clock::now();
    warned_[r] = false;
  }
  // Throws if an exchange that has waited since `begin` for `ranks` was interrupted or timed out,
  // or one of them is silent for too long; warns before that.
  void check_waiting(Clock::time_point begin, const std::vector<std::size_t>& ranks);

 private:
  void check_alive(Clock::time_point begin, std::size_t r);

  int rank_;
  int size_;
  Timeouts timeouts_;
  std::vector<Clock::time_point> last_heartbeats_;  // by rank
  std::vector<bool> warned_;
  std::atomic<bool> interrupted_ = false;
};

std::unique_ptr<Transport> connect_tcp(const Launch& launch, const Timeouts& timeouts);
std::unique_ptr<Transport> connect_mpi(const Launch& launch, const Timeouts& timeouts);

// Version and file of the library, or why it is not available.
LibraryStatus mpi_status();

}  // namespace causeway::dist
