// Ctrl-C during a computation. Python's handler only sets a flag that is checked after the
// computation; ours also interrupts the computation.
#include "python/bind.h"

#include <pthread.h>

#include <csignal>

namespace causeway::python {

namespace {

struct sigaction before {};

extern "C" void on_interrupt(int number) {
  request_interrupt();
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(number);
}

// Signals are handled by Python's main thread.
bool is_main_thread() {
  const nb::object threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace

CatchSignal::CatchSignal() {
  struct sigaction now {};
  if (!is_main_thread() || sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = now.sa_handler == on_interrupt;  // nested
  const bool takes_info = (now.sa_flags & SA_SIGINFO) != 0;
  if (ours || takes_info || now.sa_handler == SIG_IGN || now.sa_handler == SIG_DFL) return;
  clear_interrupt();
  before = now;
  now.sa_handler = on_interrupt;
  caught_ = sigaction(SIGINT, &now, nullptr) == 0;
}

CatchSignal::~CatchSignal() {
  if (!caught_) return;
  sigaction(SIGINT, &before, nullptr);
  clear_interrupt();
}

}  // namespace causeway::python
