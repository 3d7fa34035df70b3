// Work captured as a CUDA graph and replayed with one call. CUDA devices only.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstdint>
#include <functional>
#include <memory>

struct CUgraphExec_st;

namespace causeway {

// Whether this thread is inside Graph::capture.
bool capturing();
// Assigns memory allocated on `other` to this thread's capture, like that of the captured stream;
// no effect outside of a capture. For a stream that waits for the captured one, and that the
// captured one waits for before the capture ends.
void join_capture(StreamView other);

// Memory shared by graphs that never run at the same time, and by the same work before capture:
// together they need as much as the largest of them.
class GraphMemory {
 public:
  explicit GraphMemory(Device device);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  // Runs `body` with its allocations on `stream` taken from this memory.
  void use(StreamView stream, const std::function<void()>& body) const;

 private:
  friend class Graph;
  Device device_;
  std::uint64_t capture_;  // in the device's pool
};

class Graph {
 public:
  // Runs `body` once, capturing its work on `stream` (the current stream during the call) instead
  // of running it. Tensors created inside keep their addresses while the graph exists; tensors
  // created outside and used inside must outlive it. `body` must not synchronise with the device.
  // Without `memory` the graph owns its memory.
  static Graph capture(StreamView stream, const std::function<void()>& body,
                       std::shared_ptr<const GraphMemory> memory = nullptr);

  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  // Queues the captured work.
  void replay(StreamView stream) const;

 private:
  Graph() = default;
  Device device_;
  CUgraphExec_st* handle_ = nullptr;
  std::shared_ptr<const GraphMemory> memory_;
};

}  // namespace causeway
