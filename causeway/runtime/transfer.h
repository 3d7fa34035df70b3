// Copies between host and device memory. Pageable host memory is staged in pinned chunks, so that
// the copy engine works while the next chunk is prepared and other streams compute.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstddef>

namespace causeway {

// Copies `bytes` from memory of one device to memory of another (or the same), ordered on `stream`.
// Device to device and host to device: returns when the copy is queued; the host memory has been
// read and may be changed. Device to host: returns when the copy is complete.
void transfer(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
              StreamView stream);

}  // namespace causeway
