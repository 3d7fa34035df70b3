// TCP sockets that are never waited for without an end.
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

  // Listens at all addresses of this machine; port 0 takes any. Empty, with errno, where it cannot.
  static Socket listen(int port);
  // One attempt. Empty where it fails, with the reason in `why`; throws where the name is unknown.
  static Socket connect(const std::string& address, int port, Deadline deadline, std::string& why);

  // The next to connect; empty at the deadline.
  Socket accept(Deadline deadline) const;
  // All bytes; false at the deadline, at the end of the stream or after an error.
  bool send(std::span<const std::byte> bytes, Deadline deadline) const;
  bool receive(std::span<std::byte> bytes, Deadline deadline) const;

  int port() const;            // this side's
  std::string peer() const;    // the other side's address, as numbers
  bool peer_is_local() const;  // whether that is this very machine, by its loopback

  // The system asks a silent other side whether it is there, and gives up on one whose machine or
  // network is gone after about 20 s. Small messages leave at once.
  void tune() const;

 private:
  int descriptor_ = -1;
};

}  // namespace causeway::dist
