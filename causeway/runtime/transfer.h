// Copies between host and device memory. Pageable host memory goes through pinned staging chunks,
// so that the copy engine works while the next chunk is prepared and other streams compute.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstddef>

namespace causeway {

// Copies `bytes` from memory of one device to memory of another (or the same), ordered on `stream`.
// - device to device, and host to device: returns when the copy is queued; host memory may be
//   changed at once, it has been read.
// - device to host: returns when the bytes have arrived.
void transfer(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
              StreamView stream);

}  // namespace causeway
