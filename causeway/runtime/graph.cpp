#include "causeway/runtime/graph.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"

#include <utility>

namespace causeway {

namespace {

thread_local bool in_capture = false;

struct CaptureMark {
  CaptureMark() { in_capture = true; }
  ~CaptureMark() { in_capture = false; }
};

}  // namespace

bool capturing() { return in_capture; }

Graph Graph::capture(StreamView stream, const std::function<void()>& body) {
  const Device device = stream.device();
  if (device.is_cpu()) {
    fail(ErrorKind::device, "graph.capture", "graphs are recorded on CUDA devices, not on the cpu");
  }
  Graph graph;
  graph.device_ = device;
  if (in_capture) {
    fail(ErrorKind::invalid_argument, "graph.capture", "a capture is under way in this thread");
  }
  const StreamGuard guard(stream);
  const CaptureMark mark;
  Pool& pool = pool_of(device);
  driver::begin_capture(device.index, stream.handle());
  graph.memory_ = pool.begin_capture(stream);
  try {
    body();
  } catch (...) {
    pool.end_capture(stream);
    driver::end_capture(device.index, stream.handle(), false);
    throw;
  }
  pool.end_capture(stream);
  graph.handle_ = driver::end_capture(device.index, stream.handle(), true);
  return graph;
}

Graph::~Graph() {
  if (handle_ != nullptr) driver::destroy_graph(handle_);
  if (memory_ == 0) return;
  try {
    pool_of(device_).drop_capture(memory_);
  } catch (const Error&) {
    // The device has failed: its memory goes with the process.
  }
}

Graph::Graph(Graph&& other) noexcept
    : device_(other.device_),
      handle_(std::exchange(other.handle_, nullptr)),
      memory_(std::exchange(other.memory_, 0)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(memory_, other.memory_);
  return *this;
}

void Graph::replay(StreamView stream) const {
  driver::launch_graph(device_.index, handle_, stream.handle());
}

}  // namespace causeway
