// A recorded piece of work that is queued again in one call. CUDA devices only.
#pragma once

#include "causeway/runtime/stream.h"

#include <cstdint>
#include <functional>

struct CUgraphExec_st;

namespace causeway {

// Whether this thread is inside Graph::capture.
bool capturing();

class Graph {
 public:
  // Runs `body` once, recording what it queues on `stream` (made current meanwhile) instead of
  // running it. Tensors made inside keep their addresses while the graph lives; tensors made
  // outside and used inside must outlive it. `body` must not wait for the device.
  static Graph capture(StreamView stream, const std::function<void()>& body);

  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  // Queues the recorded work.
  void replay(StreamView stream) const;

 private:
  Graph() = default;
  Device device_;
  CUgraphExec_st* handle_ = nullptr;
  std::uint64_t memory_ = 0;  // the capture's memory in the device's pool
};

}  // namespace causeway
