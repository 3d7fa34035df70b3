// Rendezvous of the ranks: all connect to rank 0, which distributes the addresses; then each
// connects to the ranks below it. Problems (a port in use, duplicate ranks, another world size) are
// reported to all ranks that have joined.
#pragma once

#include "causeway/dist/launch.h"
#include "causeway/dist/socket.h"

#include <vector>

namespace causeway::dist {

// A connection to every other rank, by rank; the own one is empty. Throws distributed errors.
std::vector<Socket> connect_ranks(const Launch& launch, std::chrono::milliseconds timeout);

}  // namespace causeway::dist
