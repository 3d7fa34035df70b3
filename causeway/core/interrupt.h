// Cancelling long computations. A signal handler or another thread sets a flag. Computations
// declared interruptible check it every few milliseconds and throw ErrorKind::interrupted.
#pragma once

#include <atomic>

namespace causeway {

namespace internal {
inline std::atomic<bool> interrupt_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may set it
inline thread_local bool is_interruptible = false;
[[noreturn]] void throw_interrupted();
}  // namespace internal

// May be called from a signal handler.
inline void request_interrupt() { internal::interrupt_flag.store(true, std::memory_order_relaxed); }
inline void clear_interrupt() { internal::interrupt_flag.store(false, std::memory_order_relaxed); }
inline bool interrupt_requested() {
  return internal::interrupt_flag.load(std::memory_order_relaxed);
}

// While an Interruptible exists, computations of this thread may be interrupted; their outputs are
// then undefined.
class Interruptible {
 public:
  explicit Interruptible(bool on = true) : before_(internal::is_interruptible) {
    internal::is_interruptible = on;
  }
  ~Interruptible() { internal::is_interruptible = before_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool before_;
};

// Throws if this thread is interruptible and an interrupt was requested.
inline void check_interrupt() {
  if (internal::is_interruptible && interrupt_requested()) internal::throw_interrupted();
}

}  // namespace causeway
