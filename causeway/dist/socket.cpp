#include "causeway/dist/socket.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace causeway::dist {

namespace {

void set_option(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof(value));
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Waits until the socket is readable or writable; false at the deadline.
bool wait_for(int descriptor, short events, Deadline deadline) {
  do {
    pollfd entry{descriptor, events, 0};
    if (::poll(&entry, 1, milliseconds_until(deadline)) > 0) return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

bool try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Socket bound(const sockaddr* address, socklen_t length) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  set_option(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6) {
    set_option(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 0);  // accept IPv4 too
  }
  if (::bind(socket.descriptor(), address, length) != 0) return {};
  if (::listen(socket.descriptor(), SOMAXCONN) != 0) return {};
  return socket;
}

Socket bound_to_all(int port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (Socket both = bound(reinterpret_cast<sockaddr*>(&six), sizeof(six))) return both;
  if (errno == EADDRINUSE || errno == EACCES) return {};
  sockaddr_in four{};  // no IPv6 on this machine
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(port));
  return bound(reinterpret_cast<sockaddr*>(&four), sizeof(four));
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
}

bool names_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::string numeric(const sockaddr_storage& address, socklen_t length) {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text, sizeof(text), nullptr, 0,
                NI_NUMERICHOST);
  const std::string name(text);
  return name.starts_with("::ffff:") ? name.substr(7) : name;  // IPv4-mapped IPv6 address
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket Socket::listen(int port, const std::string& address) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    return bound_to_all(port);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (is_loopback(each->ai_addr) && !names_loopback(address)) continue;
    Socket socket = bound(each->ai_addr, each->ai_addrlen);
    if (socket || errno == EADDRINUSE || errno == EACCES) return socket;
  }
  return bound_to_all(port);
}

Socket Socket::connect(const std::string& address, int port, Deadline deadline, std::string& why) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (status != 0) {
    fail(ErrorKind::distributed, "group",
         fmt::format("the address {} of rank 0 cannot be looked up: {}; check MASTER_ADDR",
                     shown(address), ::gai_strerror(status)));
  }
  Socket connected;
  for (const addrinfo* each = found; each != nullptr && !connected; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int error = errno;
    if (socket) {
      error = ::connect(socket.descriptor(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        socklen_t length = sizeof(error);
        if (wait_for(socket.descriptor(), POLLOUT, deadline)) {
          ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
        }
      }
    }
    if (error == 0) {
      connected = std::move(socket);
    } else {
      why = std::strerror(error);
    }
  }
  ::freeaddrinfo(found);
  return connected;
}

Socket Socket::accept(Deadline deadline) const {
  while (wait_for(descriptor_, POLLIN, deadline)) {
    Socket socket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) return socket;
  }
  return {};
}

bool Socket::send(std::span<const std::byte> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    if (!wait_for(descriptor_, POLLOUT, deadline)) return false;
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && !try_again(errno)) return false;
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Socket::receive(std::span<std::byte> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    if (!wait_for(descriptor_, POLLIN, deadline)) return false;
    const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && !try_again(errno))) return false;
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool Socket::is_closed_by_peer() const {
  pollfd entry{descriptor_, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0;
}

int Socket::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string Socket::address() const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  return numeric(address, length);
}

std::string Socket::peer() const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  ::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  return numeric(address, length);
}

bool Socket::peer_is_local() const { return names_loopback(peer()); }

void Socket::tune() const {
  set_option(descriptor_, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor_, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPIDLE, 8);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPINTVL, 4);
  set_option(descriptor_, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(descriptor_, IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

}  // namespace causeway::dist
