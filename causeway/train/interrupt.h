// Ctrl-C and the wish to end (SIGINT, SIGTERM) as a flag that a loop looks at between steps, so
// that it can save before it ends.
#pragma once

#include <array>
#include <csignal>

namespace causeway::train {

// While one lives, the first signal sets the flag. A Ctrl-C after that ends the process at once
// with exit code 130: what is being written then is left as a kill leaves it. Signals that were
// ignored stay so. Made and destroyed by one thread, the inner of two before the outer.
class Interrupt {
 public:
  Interrupt();
  // Puts the handlers back that were there before; with the outermost the flag is forgotten.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return signal() != 0; }
  // SIGINT or SIGTERM, whichever came first; 0 for none.
  int signal() const;

 private:
  std::array<struct sigaction, 2> before_;
};

}  // namespace causeway::train
