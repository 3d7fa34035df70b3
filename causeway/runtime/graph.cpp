#include "causeway/runtime/graph.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"

#include <optional>
#include <utility>

namespace causeway {

namespace {

thread_local std::optional<StreamView> captured;

struct CaptureMark {
  explicit CaptureMark(StreamView stream) { captured = stream; }
  ~CaptureMark() { captured.reset(); }
};

}  // namespace

GraphMemory::GraphMemory(Device device)
    : device_(device), capture_(pool_of(device).new_capture()) {}

GraphMemory::~GraphMemory() {
  try {
    pool_of(device_).drop_capture(capture_);
  } catch (const Error&) {
    // The device has failed; its memory is freed with the process.
  }
}

void GraphMemory::use(StreamView stream, const std::function<void()>& body) const {
  Pool& pool = pool_of(device_);
  pool.begin_capture(stream, capture_);
  try {
    body();
  } catch (...) {
    pool.end_capture(stream);
    throw;
  }
  pool.end_capture(stream);
}

bool capturing() { return captured.has_value(); }

void join_capture(StreamView other) {
  if (captured.has_value()) pool_of(captured->device()).join_capture(*captured, other);
}

Graph Graph::capture(StreamView stream, const std::function<void()>& body,
                     std::shared_ptr<const GraphMemory> memory) {
  const Device device = stream.device();
  if (device.is_cpu()) {
    fail(ErrorKind::device, "graph.capture", "graphs need a CUDA device, got the CPU");
  }
  if (capturing()) {
    fail(ErrorKind::invalid_argument, "graph.capture", "this thread is already capturing a graph");
  }
  Graph graph;
  graph.device_ = device;
  graph.memory_ = memory != nullptr ? std::move(memory) : std::make_shared<GraphMemory>(device);
  const StreamGuard guard(stream);
  const CaptureMark mark(stream);
  driver::begin_capture(device.index, stream.handle());
  // The capture ends before its memory does: events recorded while it lasts cannot be waited for.
  graph.memory_->use(stream, [&] {
    try {
      body();
    } catch (...) {
      driver::end_capture(device.index, stream.handle(), false);
      throw;
    }
    graph.handle_ = driver::end_capture(device.index, stream.handle(), true);
  });
  return graph;
}

Graph::~Graph() {
  if (handle_ != nullptr) driver::destroy_graph(handle_);
}

Graph::Graph(Graph&& other) noexcept
    : device_(other.device_),
      handle_(std::exchange(other.handle_, nullptr)),
      memory_(std::move(other.memory_)) {}

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
