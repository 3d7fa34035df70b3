// Where a pool gets its segments from: host memory, a CUDA device, or pinned host memory. Tests
// put a source of their own underneath, so that every path of the pool runs without a GPU.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstddef>
#include <memory>
#include <string>

namespace causeway {

// Tells when the work a stream held at some moment is done.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual bool done() = 0;
  virtual void wait() = 0;
};

class Upstream {
 public:
  virtual ~Upstream() = default;
  virtual std::byte* allocate(std::size_t bytes) = 0;  // nullptr where memory is out
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;
  // Waits for whatever may still use memory about to be released.
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Fence> fence(StreamView stream) = 0;
  // For poison and red zones; `read` waits for the stream.
  virtual void fill(std::byte* data, int byte, std::size_t bytes, StreamView stream) = 0;
  virtual void read(std::byte* to, const std::byte* from, std::size_t bytes, StreamView stream) = 0;
  // "0.5 GiB free of 139.0 GiB", for messages.
  virtual std::string room() const = 0;
};

std::unique_ptr<Upstream> host_upstream();
std::unique_ptr<Upstream> device_upstream(Device device);
std::unique_ptr<Upstream> pinned_upstream();

}  // namespace causeway
