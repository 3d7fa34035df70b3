// Source of a pool's memory: host memory, a CUDA device or pinned host memory. Tests supply their
// own, so that every path of the pool runs without a GPU.
#pragma once

#include "causeway/runtime/stream.h"
#include "causeway/runtime/virtual_memory.h"

#include <cstddef>
#include <memory>
#include <string>

namespace causeway {

// Signals when the work that a stream held at some point is done.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool done() = 0;
  virtual void wait() = 0;
};

class Upstream {
 public:
  virtual ~Upstream() = default;
  // Where there is none, the pool allocates segments.
  virtual VirtualMemory* virtual_memory() { return nullptr; }
  virtual std::byte* allocate(std::size_t bytes) = 0;  // nullptr when out of memory
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;
  // Waits for all work that may still use memory about to be released.
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Fence> fence(StreamView stream) = 0;
  // For red zones and the fill of new memory; `read` waits for the stream.
  virtual void fill(std::byte* data, int byte, std::size_t bytes, StreamView stream) = 0;
  virtual void read(std::byte* to, const std::byte* from, std::size_t bytes, StreamView stream) = 0;
  // "0.5 GiB free of 139.0 GiB", for messages.
  virtual std::string available() const = 0;
};

std::unique_ptr<Upstream> host_upstream();
std::unique_ptr<Upstream> device_upstream(Device device);
std::unique_ptr<Upstream> pinned_upstream();

}  // namespace causeway
