// Fuzzes the rendezvous of ranks. The first byte of the input selects who is attacked: the reader
// of the list of addresses, rank 1 by a false rank 0, or rank 0 by a false rank 1. The rest is what
// the attacker sends, with the magic number and name of the run filled in. Each ends with a
// distributed error or a connection.
#include "causeway/core/error.h"
#include "causeway/dist/rendezvous.h"
#include "tests/fuzz/require.h"

#include <array>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace causeway::dist;
using namespace std::chrono_literals;

constexpr auto kTimeout = 10ms;
constexpr std::size_t kHelloBytes = 32;  // magic, run, rank, size, port, unused
constexpr std::size_t kNameBytes = 16;   // magic and run

using Bytes = std::vector<std::byte>;

Launch launch_of(int rank, int port) {
  Launch launch;
  launch.rank = rank;
  launch.size = 2;
  launch.address = "127.0.0.1";
  launch.port = port;
  launch.run_name = "fuzz";
  return launch;
}

void attacked(int rank, int port) {
  try {
    const std::vector<Socket> peers = connect_ranks(launch_of(rank, port), kTimeout);
    FUZZ_REQUIRE(peers.size() == 2);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::distributed);
  }
}

Deadline soon() { return std::chrono::steady_clock::now() + kTimeout; }

// The magic number and the name of the run: what rank 1 says first. On a busy machine its time may
// be over before that.
std::array<std::byte, kNameBytes> greeting() {
  std::array<std::byte, kHelloBytes> hello{};
  bool greeted = false;
  for (int attempt = 0; attempt < 100 && !greeted; ++attempt) {
    const Socket door = Socket::listen(0);
    std::thread victim(attacked, 1, door.port());
    const Deadline until = std::chrono::steady_clock::now() + 100ms;
    const Socket socket = door.accept(until);
    greeted = socket && socket.receive(hello, until);
    victim.join();
  }
  FUZZ_REQUIRE(greeted);
  std::array<std::byte, kNameBytes> name{};
  std::memcpy(name.data(), hello.data(), name.size());
  return name;
}

void attack_rank_1(const Bytes& sent) {
  const Socket door = Socket::listen(0);
  std::thread victim(attacked, 1, door.port());
  {
    const Socket socket = door.accept(soon());
    if (socket) socket.send(sent, soon());
  }
  victim.join();
}

void attack_rank_0(const Bytes& sent) {
  int port = 0;
  {
    const Socket free = Socket::listen(0);
    port = free.port();
  }
  std::thread victim(attacked, 0, port);
  std::string why;
  for (const Deadline until = soon(); std::chrono::steady_clock::now() < until;) {
    const Socket socket = Socket::connect("127.0.0.1", port, until, why);
    if (!socket) continue;
    socket.send(sent, soon());
    break;
  }
  victim.join();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 8 > 1) {  // most often the cheap one
    try {
      for (const Place& place : parse_places(text, 1 + data[0] / 8 % 4)) {
        FUZZ_REQUIRE(!place.address.empty() && place.port > 0 && place.port < 65536);
      }
    } catch (const causeway::Error& error) {
      FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::distributed);
    }
    return 0;
  }
  static const std::array<std::byte, kNameBytes> name = greeting();
  Bytes sent(std::max(text.size(), kNameBytes));
  std::memcpy(sent.data(), text.data(), text.size());
  if (data[0] < 128) std::memcpy(sent.data(), name.data(), name.size());
  data[0] % 8 == 0 ? attack_rank_1(sent) : attack_rank_0(sent);
  return 0;
}
