// Turns SIGINT (Ctrl-C) and SIGTERM into a flag that a loop checks between steps, so that it can
// save before it ends.
#pragma once

#include <array>
#include <csignal>

namespace causeway::train {

// During the lifetime of an object the first signal sets the flag. A Ctrl-C after that ends the
// process at once with exit code 130. Signals that were ignored stay ignored. Objects may nest;
// they are created and destroyed by one thread.
class Interrupt {
 public:
  Interrupt();
  // Restores the previous handlers; the outermost object also clears the flag.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return signal() != 0; }
  // The first signal received, SIGINT or SIGTERM; 0 for none.
  int signal() const;

 private:
  std::array<struct sigaction, 2> before_;
};

}  // namespace causeway::train
