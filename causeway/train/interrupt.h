// Turns SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) into a flag that a loop checks, so
// that it can save before it ends.
#pragma once

namespace causeway::train {

// During the lifetime of an object the first signal sets the flag and interrupts computations that
// are declared interruptible (core/interrupt.h). A Ctrl-C after that ends the process at once with
// exit code 130. SIGPIPE is ignored: a closed pipe ends the printing, not the run. Signals that
// were ignored stay ignored. Objects may nest, and exist in several threads.
class Interrupt {
 public:
  Interrupt();
  // The last object restores the previous handlers and clears the flags.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return signal() != 0; }
  // The first signal received; 0 for none.
  int signal() const;
};

}  // namespace causeway::train
