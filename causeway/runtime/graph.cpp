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

// Of captures in the device's pool.
struct Graph::Memory {
  Device device;
  std::uint64_t capture = 0;

  Memory(Device of, std::uint64_t which) : device(of), capture(which) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    try {
      pool_of(device).drop_capture(capture);
    } catch (const Error&) {
      // The device has failed: its memory goes with the process.
    }
  }
};

bool capturing() { return captured.has_value(); }

void join_capture(StreamView other) {
  if (captured.has_value()) pool_of(captured->device()).join_capture(*captured, other);
}

Graph Graph::capture(StreamView stream, const std::function<void()>& body, const Graph* shares) {
  const Device device = stream.device();
  if (device.is_cpu()) {
    fail(ErrorKind::device, "graph.capture", "graphs are recorded on CUDA devices, not on the cpu");
  }
  Graph graph;
  graph.device_ = device;
  if (capturing()) {
    fail(ErrorKind::invalid_argument, "graph.capture", "a capture is under way in this thread");
  }
  const StreamGuard guard(stream);
  const CaptureMark mark(stream);
  Pool& pool = pool_of(device);
  driver::begin_capture(device.index, stream.handle());
  if (shares != nullptr) graph.memory_ = shares->memory_;
  const std::uint64_t capture =
      pool.begin_capture(stream, shares != nullptr ? graph.memory_->capture : 0);
  if (shares == nullptr) graph.memory_ = std::make_shared<Memory>(device, capture);
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
