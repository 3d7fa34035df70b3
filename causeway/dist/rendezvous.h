// Rendezvous of the ranks: all connect to rank 0, which distributes the addresses; then each
// connects to the ranks below it. Problems (a port in use, duplicate ranks, another world size) are
// reported to all ranks that have joined.
#pragma once

#include "causeway/dist/launch.h"
#include "causeway/dist/socket.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::dist {

// A connection to every other rank, by rank; the own one is empty. Throws distributed errors.
std::vector<Socket> connect_ranks(const Launch& launch, std::chrono::milliseconds timeout);

// Where a rank listens for higher ranks.
struct Place {
  std::string address;  // numeric, or "here": rank 0's machine
  int port = 0;
};

// The places of ranks 1 to `count`, as rank 0 sends them: a line with address and port each. Throws
// a distributed error for any other text.
std::vector<Place> parse_places(std::string_view text, int count);

}  // namespace causeway::dist
