// How ranks find each other: all go to rank 0, which tells everyone where the others listen; then
// each connects to those below it. What is in the way (a port in use, two processes of one rank,
// another size) is told to all who have come.
#pragma once

#include "causeway/dist/launch.h"
#include "causeway/dist/socket.h"

#include <vector>

namespace causeway::dist {

// A connection to every other rank, by rank; this rank's own is empty. Throws distributed errors.
std::vector<Socket> meet(const Launch& launch, std::chrono::milliseconds timeout);

}  // namespace causeway::dist
