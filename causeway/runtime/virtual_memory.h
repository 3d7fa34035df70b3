// Ranges of addresses to which memory is mapped page by page. A heap in such a range grows at its
// end, so that free blocks merge whatever their sizes, and its free pages can be released one by
// one. Tests supply their own.
#pragma once

#include "causeway/runtime/device.h"

#include <cstddef>
#include <memory>

namespace causeway {

class VirtualMemory {
 public:
  virtual ~VirtualMemory() = default;

  virtual std::size_t page_size() const = 0;
  // The size of the range to reserve for a heap: more than the memory of the device.
  virtual std::size_t range_size() const = 0;

  // Addresses without memory, aligned to pages; nullptr if there are too few left.
  virtual std::byte* reserve(std::size_t bytes) = 0;
  virtual void unreserve(std::byte* range, std::size_t bytes) noexcept = 0;

  // Maps new memory to whole pages of a range; false when out of memory, with nothing mapped.
  virtual bool map(std::byte* pages, std::size_t bytes) = 0;
  // Releases the memory of mapped pages, which nothing uses.
  virtual void unmap(std::byte* pages, std::size_t bytes) noexcept = 0;
};

// nullptr where the device has none.
std::unique_ptr<VirtualMemory> virtual_memory_of(Device device);

}  // namespace causeway
