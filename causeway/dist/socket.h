// TCP sockets with a deadline on every operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace causeway::dist {

using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  // Listens on `address` if it is one of this machine, and else on all: a name may resolve to
  // another address here than elsewhere. Port 0 chooses a free one. Empty on failure, with errno
  // set.
  static Socket listen(int port, const std::string& address = "127.0.0.1");
  // One attempt. Empty on failure, with the reason in `why`; throws if the name cannot be resolved.
  static Socket connect(const std::string& address, int port, Deadline deadline, std::string& why);

  // The next connection; empty at the deadline.
  Socket accept(Deadline deadline) const;
  // Sends or receives all bytes; false at the deadline, at the end of the stream or on error.
  bool send(std::span<const std::byte> bytes, Deadline deadline) const;
  bool receive(std::span<std::byte> bytes, Deadline deadline) const;

  bool is_closed_by_peer() const;

  int port() const;             // of this side
  std::string address() const;  // numeric, of this side
  std::string peer() const;     // numeric address of the other side
  bool peer_is_local() const;   // whether the peer is on this machine's loopback

  // Enables keep-alive, so that a peer whose machine or network is gone is detected after about 20
  // s, and disables Nagle's algorithm.
  void tune() const;

 private:
  int descriptor_ = -1;
};

}  // namespace causeway::dist
