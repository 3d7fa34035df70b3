// Streams and events. A stream is an ordered queue of work on one device; the CPU's stream runs
// work immediately, in the caller's thread. Owners (Stream, Event) free the handle; StreamView is
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

  // Waits for all work queued so far and throws the faults it reported (see fault.h).
  void synchronize() const;
  bool done() const;
  // Work queued after this call starts only after `event` has completed.
  void wait(const Event& event) const;
  // The same for all work queued on `other` so far; cheap if that work is done.
  void wait(StreamView other) const;

  friend bool operator==(const StreamView&, const StreamView&) = default;

 private:
  Device device_;
  CUstream_st* handle_ = nullptr;
};

// Owns a stream. The handle is never destroyed but reused by the next Stream of the device: memory
// used on the stream may be freed long after it, and the pool then queries the handle for
// completion.
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

// A point in a stream's queue of work.
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

// The stream of `device` that this thread's work is queued on; the device's default stream unless
// changed.
StreamView current_stream(Device device);

// Makes a stream the current stream of its device, in this thread, for the scope.
class StreamGuard {
 public:
  explicit StreamGuard(StreamView stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  StreamView before_;
};

// Waits for all work on the device.
void synchronize(Device device);

}  // namespace causeway
