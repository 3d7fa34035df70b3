// Streams and events. A stream is an ordered queue of work on one device; the CPU's stream runs
// work at once, in the caller's thread. Owners (Stream, Event) free the handle; StreamView is
// passed by value to every asynchronous call.
#pragma once

#include "causeway/runtime/device.h"

#include <chrono>

struct CUstream_st;
struct CUevent_st;

namespace causeway {

class Event;

class StreamView {
 public:
  StreamView() = default;
  StreamView(Device device, CUstream_st* handle) : device_(device), handle_(handle) {}

  Device device() const { return device_; }
  CUstream_st* handle() const { return handle_; }

  // Waits for all work queued so far, and throws what that work reported (see fault.h).
  void synchronize() const;
  bool done() const;
  // Work queued after this call starts only when `event` has happened.
  void wait(const Event& event) const;
  // The same, for all work that `other` holds now; costs least where that is done.
  void wait(StreamView other) const;

  friend bool operator==(const StreamView&, const StreamView&) = default;

 private:
  Device device_;
  CUstream_st* handle_ = nullptr;
};

// Owns a queue of its own. The handle is never destroyed but handed on to the next Stream of the
// device: memory the stream used may be freed long after it, and the pool then asks the handle
// whether its work is done.
class Stream {
 public:
  explicit Stream(Device device);
  // Waits for the stream's work.
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&&) = delete;

  StreamView view() const { return view_; }
  operator StreamView() const { return view_; }  // NOLINT: an owner passes as its view

 private:
  StreamView view_;
};

// A point in a stream's work.
class Event {
 public:
  explicit Event(Device device, bool timed = false);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(StreamView stream);
  bool done() const;
  void synchronize() const;
  // Milliseconds between two recorded timed events; waits for the later one.
  static double milliseconds(const Event& start, const Event& end);

  CUevent_st* handle() const { return handle_; }

 private:
  Device device_;
  CUevent_st* handle_ = nullptr;
  std::chrono::steady_clock::time_point cpu_time_;
};

// The stream of `device` that work of this thread goes to; at first the device's default stream.
StreamView current_stream(Device device);

// Makes a stream the current one of its device, in this thread, until the end of the scope.
class StreamGuard {
 public:
  explicit StreamGuard(StreamView stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  StreamView before_;
};

// Waits for everything on the device.
void synchronize(Device device);

}  // namespace causeway
