// Turns SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) into a flag that a loop checks, so
// that it can save before it ends.
#pragma once

#include <array>
#include <csignal>

namespace causeway::train {

// During the lifetime of an object the first signal sets the flag and interrupts computations that
// are declared interruptible (core/interrupt.h). A Ctrl-C after that ends the process at once with
// exit code 130. SIGPIPE is ignored: a closed pipe ends the printing, not the run. Signals that
// were ignored stay ignored. Objects may nest; they are created and destroyed by one thread.
class Interrupt {
 public:
  Interrupt();
  // Restores the previous handlers; the outermost object also clears the flags.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return signal() != 0; }
  // The first signal received; 0 for none.
  int signal() const;

 private:
  std::array<struct sigaction, 4> before_;
};

}  // namespace causeway::train
