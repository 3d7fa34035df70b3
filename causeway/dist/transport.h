// How bytes move between ranks: one operation, in which every rank gives something to every other.
// All collectives of the CPU are made of it. tcp.cpp and mpi.cpp implement it; a build without MPI
// takes no_mpi.cpp.
#pragma once

#include "causeway/dist/group.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::dist {

// One stretch of bytes for each rank; this rank's own is not looked at, an empty one is not sent.
using Outgoing = std::vector<std::span<const std::byte>>;
using Incoming = std::vector<std::span<std::byte>>;

// One thread makes, uses and destroys it. Every error is a distributed one and ends its use.
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

 protected:
  Transport(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

std::unique_ptr<Transport> connect_tcp(const Launch& launch, const Timeouts& timeouts);
std::unique_ptr<Transport> connect_mpi(const Launch& launch, const Timeouts& timeouts);

std::string mpi_version();  // empty in a build without MPI

}  // namespace causeway::dist
