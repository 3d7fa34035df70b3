// A recorded piece of work that is queued again in one call. CUDA devices only.
#pragma once

#include "causeway/runtime/stream.h"

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

class Graph {
 public:
  // Runs `body` once, recording what it queues on `stream` (made current meanwhile) instead of
  // running it. Tensors made inside keep their addresses while the graph lives; tensors made
  // outside and used inside must outlive it. `body` must not wait for the device.
  // A graph that is given another takes the memory that one left free, so that both together need
  // no more than the larger: their replays must not overlap.
  static Graph capture(StreamView stream, const std::function<void()>& body,
                       const Graph* shares = nullptr);

  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  // Queues the recorded work.
  void replay(StreamView stream) const;

 private:
  Graph() = default;
  struct Memory;

  Device device_;
  CUgraphExec_st* handle_ = nullptr;
  std::shared_ptr<Memory> memory_;
};

}  // namespace causeway
