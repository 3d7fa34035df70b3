// A recorded piece of work that is queued again in one call. CUDA devices only.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstdint>
#include <functional>
#include <memory>

struct CUgraphExec_st;

namespace causeway {

// Whether this thread is inside Graph::capture.
bool capturing();
// Has memory that is allocated on `other` belong to this thread's capture, as that of the captured
// stream does; nothing outside of one. For a stream that waits for the captured one, and that this
// one waits for before the end.
void join_capture(StreamView other);

// Memory of graphs that never run at once, and of the same work before it is recorded: all together
// need no more than the one that needs most.
class GraphMemory {
 public:
  explicit GraphMemory(Device device);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  // Runs `body` with what it allocates on `stream` taken from here.
  void use(StreamView stream, const std::function<void()>& body) const;

 private:
  friend class Graph;
  Device device_;
  std::uint64_t capture_;  // in the device's pool
};

class Graph {
 public:
  // Runs `body` once, recording what it queues on `stream` (made current meanwhile) instead of
  // running it. Tensors made inside keep their addresses while the graph lives; tensors made
  // outside and used inside must outlive it. `body` must not wait for the device.
  // Without a memory to share it has its own.
  static Graph capture(StreamView stream, const std::function<void()>& body,
                       std::shared_ptr<const GraphMemory> memory = nullptr);

  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  // Queues the recorded work.
  void replay(StreamView stream) const;

 private:
  Graph() = default;
  Device device_;
  CUgraphExec_st* handle_ = nullptr;
  std::shared_ptr<const GraphMemory> memory_;
};

}  // namespace causeway
