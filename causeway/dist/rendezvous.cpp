#include "causeway/dist/rendezvous.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace causeway::dist {

namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kMagic = 0x6361757365776179;  // "causeway"
constexpr std::chrono::seconds kHelloTimeout{2};      // for a connected peer that does not send

// The first message of each side.
struct Hello {
  std::uint64_t magic = kMagic;
  std::uint64_t run = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t port = 0;  // where this rank listens for higher ranks
  std::int32_t unused = 0;
};

// Rank 0's answer when all ranks have joined, or that it gave up; a text follows.
struct Verdict {
  std::uint64_t good = 0;
  std::uint64_t length = 0;
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

[[noreturn]] void give_up(const std::string& message) {
  fail(ErrorKind::distributed, "group", message);
}

class Meeting {
 public:
  Meeting(const Launch& launch, std::chrono::milliseconds timeout)
      : launch_(launch),
        timeout_(timeout),
        deadline_(steady_clock::now() + timeout),
        run_(hash_of(launch.run_name + '\0' + launch.token)),
        peers_(static_cast<std::size_t>(launch.size)) {}

  std::vector<Socket> run() {
    if (launch_.rank == 0) {
      receive_all_ranks();
    } else {
      connect_to_rank_0();
    }
    for (const Socket& peer : peers_) {
      if (peer) peer.tune();
    }
    return std::move(peers_);
  }

 private:
  Socket& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  Deadline hello_deadline() const {
    return std::min(deadline_, steady_clock::now() + kHelloTimeout);
  }
  double seconds() const { return std::chrono::duration<double>(timeout_).count(); }

  Hello hello(int port = 0) const {
    Hello mine;
    mine.run = run_;
    mine.rank = launch_.rank;
    mine.size = launch_.size;
    mine.port = port;
    return mine;
  }

  // Answers a peer that belongs to this run; closes the connection to others.
  std::optional<Hello> receive_hello(const Socket& socket) const {
    Hello theirs;
    if (!socket.receive(bytes_of(theirs), hello_deadline())) return std::nullopt;
    if (theirs.magic != kMagic || theirs.run != run_) return std::nullopt;
    if (!socket.send(bytes_of(hello()), hello_deadline())) return std::nullopt;
    return theirs;
  }

  bool send_hello(const Socket& socket, int port, Deadline until) const {
    Hello theirs;
    return socket.send(bytes_of(hello(port)), until) && socket.receive(bytes_of(theirs), until) &&
           theirs.magic == kMagic && theirs.run == run_;
  }

  // Rank 0 only.
  Socket listen_on_master_port() const {
    for (int i = 0; i < launch_.n_ports; ++i) {
      if (Socket socket = Socket::listen(launch_.port + i, launch_.address)) return socket;
      if (errno != EADDRINUSE) break;
    }
    give_up(fmt::format("rank 0 cannot listen on port {}: {}; set MASTER_PORT to a free port",
                        launch_.port, std::strerror(errno)));
  }

  std::string missing_ranks() const {
    std::string list;
    for (int rank = 1; rank < launch_.size; ++rank) {
      if (peers_[static_cast<std::size_t>(rank)]) continue;
      list += (list.empty() ? "" : ", ") + std::to_string(rank);
    }
    return list;
  }

  // Notifies all ranks that have joined, and throws.
  [[noreturn]] void refuse_all(const std::string& message) const {
    for (const Socket& each : peers_) {
      if (each) send_verdict(each, 0, message);
    }
    give_up(message);
  }

  bool send_verdict(const Socket& socket, std::uint64_t good, const std::string& text) const {
    const Verdict verdict{good, text.size()};
    return socket.send(bytes_of(verdict), hello_deadline()) &&
           socket.send(std::as_bytes(std::span(text)), hello_deadline());
  }

  // A rank that was not answered in time has closed its connection and connects again.
  bool all_have_joined() {
    for (Socket& each : peers_) {
      if (each && each.is_closed_by_peer()) each = {};
    }
    return std::count_if(peers_.begin(), peers_.end(), [](const Socket& each) {
             return static_cast<bool>(each);
           }) == launch_.size - 1;
  }

  void receive_all_ranks() {
    const Socket door = listen_on_master_port();
    std::vector<std::string> places(peers_.size());
    while (!all_have_joined()) {
      Socket socket = door.accept(deadline_);
      if (!socket) {
        refuse_all(
            fmt::format("rank 0 waited {:g} s on port {}, but of {} ranks these did not "
                        "join: {}; see their output, and check MASTER_ADDR and MASTER_PORT",
                        seconds(), door.port(), launch_.size, missing_ranks()));
      }
      const std::optional<Hello> theirs = receive_hello(socket);
      if (!theirs.has_value()) continue;
      if (theirs->size != launch_.size || theirs->rank < 1 || theirs->rank >= launch_.size) {
        const std::string message =
            fmt::format("a process joined as rank {} of {}, but rank 0 expects {} ranks",
                        theirs->rank, theirs->size, launch_.size);
        send_verdict(socket, 0, message);
        refuse_all(message);
      }
      if (peer(theirs->rank) && !peer(theirs->rank).is_closed_by_peer()) {
        const std::string message =
            fmt::format("two processes joined as rank {}; ranks must be unique", theirs->rank);
        send_verdict(socket, 0, message);
        refuse_all(message);
      }
      // A peer on the loopback is on this machine: other ranks reach it at rank 0's address.
      places[static_cast<std::size_t>(theirs->rank)] =
          fmt::format("{} {}\n", socket.peer_is_local() ? "here" : socket.peer(), theirs->port);
      peer(theirs->rank) = std::move(socket);
    }
    std::string list;
    for (int rank = 1; rank < launch_.size; ++rank) list += places[static_cast<std::size_t>(rank)];
    for (int rank = 1; rank < launch_.size; ++rank) {
      if (!send_verdict(peer(rank), 1, list)) {
        refuse_all(fmt::format("rank {} exited while the group was connecting", rank));
      }
    }
  }

  // Other ranks.
  void connect_to_rank_0() {
    Socket door;
    std::string why = "timed out";
    bool found_another = false;
    for (int attempt = 0; !peer(0); ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (steady_clock::now() >= deadline_) {
        give_up(
            fmt::format("rank {} did not reach rank 0 at {}:{} within {:g} s: {}; check "
                        "MASTER_ADDR and MASTER_PORT, and see the output of rank 0",
                        launch_.rank, shown(launch_.address), launch_.port, seconds(), why));
      }
      std::string refusal;
      Socket socket = Socket::connect(launch_.address, launch_.port + attempt % launch_.n_ports,
                                      deadline_, refusal);
      if (!socket) {
        // That another process answered explains more than that it has ended since.
        if (!found_another) why = refusal;
        continue;
      }
      if (!door) door = listen_for_higher_ranks(socket);
      if (send_hello(socket, door.port(), hello_deadline())) {
        peer(0) = std::move(socket);
      } else {
        found_another = true;
        why =
            "the process that listens there is not rank 0 of this run, or has another "
            "CAUSEWAY_DIST_TOKEN";
      }
    }
    connect_to_the_rest(door, receive_addresses());
  }

  // For higher ranks: on the interface that reaches rank 0, or as rank 0 does on its machine.
  Socket listen_for_higher_ranks(const Socket& to_rank_0) const {
    Socket door =
        Socket::listen(0, to_rank_0.peer_is_local() ? launch_.address : to_rank_0.address());
    if (!door) give_up(fmt::format("cannot listen on any port: {}", std::strerror(errno)));
    return door;
  }

  std::string receive_addresses() {
    Verdict verdict;
    std::string text;
    constexpr std::uint64_t kLongest = std::uint64_t{1} << 24;
    // Rank 0 reports who is missing, so it gets a little more time.
    const Deadline later = deadline_ + kHelloTimeout;
    bool heard = peer(0).receive(bytes_of(verdict), later) && verdict.length < kLongest;
    if (heard) {
      text.resize(verdict.length);
      heard = peer(0).receive(std::as_writable_bytes(std::span(text)), later);
    }
    if (!heard && steady_clock::now() >= later) {
      give_up(fmt::format("rank {} waited {:g} s for the other ranks to join; see their output",
                          launch_.rank, seconds()));
    }
    if (!heard) give_up("rank 0 exited while the group was connecting; see its output");
    if (verdict.good == 0) give_up(printable(text));
    return text;
  }

  void connect_to_the_rest(const Socket& door, const std::string& list) {
    const std::vector<Place> places = parse_places(list, launch_.size - 1);
    for (int rank = 1; rank < launch_.rank; ++rank) {
      const auto& [listed, port] = places[static_cast<std::size_t>(rank - 1)];
      const std::string address = listed == "here" ? peer(0).peer() : listed;
      std::string why = "it did not answer";
      Socket socket = Socket::connect(address, port, deadline_, why);
      if (!socket || !send_hello(socket, 0, deadline_)) {
        give_up(fmt::format("rank {} cannot reach rank {} at {}:{}: {}", launch_.rank, rank,
                            address, port, why));
      }
      peer(rank) = std::move(socket);
    }
    for (int n_left = launch_.size - 1 - launch_.rank; n_left > 0;) {
      Socket socket = door.accept(deadline_);
      if (!socket) {
        give_up(fmt::format("rank {} waited {:g} s for {} higher ranks", launch_.rank, seconds(),
                            n_left));
      }
      const std::optional<Hello> theirs = receive_hello(socket);
      if (!theirs.has_value() || theirs->rank <= launch_.rank || theirs->rank >= launch_.size ||
          peer(theirs->rank)) {
        continue;
      }
      peer(theirs->rank) = std::move(socket);
      --n_left;
    }
  }

  const Launch& launch_;
  std::chrono::milliseconds timeout_;
  Deadline deadline_;
  std::uint64_t run_;
  std::vector<Socket> peers_;
};

bool is_numeric_address(const std::string& text) {
  const std::string plain = text.substr(0, text.find('%'));  // without the interface
  in6_addr address;
  return ::inet_pton(AF_INET, plain.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, plain.c_str(), &address) == 1;
}

}  // namespace

std::vector<Place> parse_places(std::string_view text, int count) {
  std::istringstream lines{std::string(text)};
  std::vector<Place> places;
  for (int rank = 1; rank <= count; ++rank) {
    Place place;
    lines >> place.address >> place.port;
    const bool known = place.address == "here" || is_numeric_address(place.address);
    if (!lines || !known || place.port < 1 || place.port > 65535) {
      give_up(fmt::format("rank 0 sent no address of rank {}; is it another version?", rank));
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<Socket> connect_ranks(const Launch& launch, std::chrono::milliseconds timeout) {
  return Meeting(launch, timeout).run();
}

}  // namespace causeway::dist
