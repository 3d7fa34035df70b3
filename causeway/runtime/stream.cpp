#include "causeway/runtime/stream.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/fault.h"
#include "causeway/runtime/graph.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace causeway {

void StreamView::synchronize() const {
  if (device_.is_cpu()) return;
  driver::synchronize(device_.index, handle_);
  check_fault(device_);
}

bool StreamView::done() const { return device_.is_cpu() || driver::done(device_.index, handle_); }

void StreamView::wait(const Event& event) const {
  if (device_.is_cpu()) return event.synchronize();
  if (event.handle() != nullptr) driver::wait(device_.index, handle_, event.handle());
}

void StreamView::wait(StreamView other) const {
  if (other == *this || other.device().is_cpu()) return;
  if (!capturing() && other.done()) return;
  // One event per thread and device is enough: a wait refers to the record before it.
  thread_local std::vector<std::optional<Event>> events;
  const auto index = static_cast<std::size_t>(other.device().index);
  if (events.size() <= index) events.resize(index + 1);
  if (!events[index].has_value()) events[index].emplace(other.device());
  events[index]->record(other);
  wait(*events[index]);
}

namespace {

// Handles that no Stream currently owns, for all devices.
struct IdleHandles {
  std::mutex mutex;
  std::vector<StreamView> views;
};

IdleHandles& idle_handles() {
  static auto* handles = new IdleHandles();
  return *handles;
}

StreamView take_handle(Device device) {
  if (device.is_cpu()) return {};
  driver::require_device(device.index);
  IdleHandles& idle = idle_handles();
  const std::lock_guard lock(idle.mutex);
  const auto found = std::find_if(idle.views.begin(), idle.views.end(),
                                  [&](StreamView view) { return view.device() == device; });
  if (found == idle.views.end()) return {device, driver::create_stream(device.index)};
  const StreamView view = *found;
  idle.views.erase(found);
  return view;
}

}  // namespace

Stream::Stream(Device device) : view_(take_handle(device)) {}

Stream::~Stream() {
  if (view_.handle() == nullptr) return;
  try {
    driver::synchronize(view_.device().index, view_.handle());
  } catch (const Error&) {
    return;  // the driver has shut down or the device has failed
  }
  IdleHandles& idle = idle_handles();
  const std::lock_guard lock(idle.mutex);
  idle.views.push_back(view_);
}

Stream::Stream(Stream&& other) noexcept : view_(std::exchange(other.view_, {})) {}

Event::Event(Device device, bool timed)
    : device_(device),
      handle_(device.is_cpu() ? nullptr : driver::create_event(device.index, timed)) {}

Event::~Event() {
  if (handle_ != nullptr) driver::destroy_event(handle_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_),
      handle_(std::exchange(other.handle_, nullptr)),
      cpu_time_(other.cpu_time_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(cpu_time_, other.cpu_time_);
  return *this;
}

void Event::record(StreamView stream) {
  if (handle_ == nullptr) {
    cpu_time_ = std::chrono::steady_clock::now();
  } else {
    driver::record(device_.index, handle_, stream.handle());
  }
}

bool Event::done() const { return handle_ == nullptr || driver::done(handle_); }

void Event::synchronize() const {
  if (handle_ != nullptr) driver::synchronize(handle_);
}

double Event::milliseconds(const Event& start, const Event& end) {
  if (start.handle_ == nullptr) {
    return std::chrono::duration<double, std::milli>(end.cpu_time_ - start.cpu_time_).count();
  }
  end.synchronize();
  return driver::milliseconds(start.handle_, end.handle_);
}

namespace {

// Each device's default stream lives as long as the process.
StreamView default_stream(Device device) {
  if (device.is_cpu()) return {};
  static std::mutex mutex;
  static std::vector<CUstream_st*> streams;
  driver::require_device(device.index);
  const std::lock_guard lock(mutex);
  const auto index = static_cast<std::size_t>(device.index);
  if (streams.size() <= index) streams.resize(index + 1, nullptr);
  if (streams[index] == nullptr) streams[index] = driver::create_stream(device.index);
  return {device, streams[index]};
}

StreamView& current(Device device) {
  thread_local std::vector<StreamView> streams;
  const auto index = static_cast<std::size_t>(device.index);
  if (streams.size() <= index) streams.resize(index + 1);
  if (streams[index].handle() == nullptr) streams[index] = default_stream(device);
  return streams[index];
}

}  // namespace

StreamView current_stream(Device device) {
  if (device.is_cpu()) return {};
  return current(device);
}

StreamGuard::StreamGuard(StreamView stream) : before_(current_stream(stream.device())) {
  if (stream.device().is_cuda()) current(stream.device()) = stream;
}

StreamGuard::~StreamGuard() {
  if (before_.device().is_cuda()) current(before_.device()) = before_;
}

void synchronize(Device device) {
  if (device.is_cpu()) return;
  driver::synchronize_device(device.index);
  check_fault(device);
}

}  // namespace causeway
