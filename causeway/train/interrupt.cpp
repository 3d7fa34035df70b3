#include "causeway/train/interrupt.h"

#include "causeway/core/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include <unistd.h>

namespace causeway::train {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
constexpr int kInterrupted = 130;

std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // required in a signal handler

// Objects that exist, also in several threads: the first installs the handlers, the last restores
// those before it.
std::mutex objects_lock;
int n_objects = 0;
std::array<struct sigaction, kSignals.size()> handlers_before;

extern "C" void note_signal(int number) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number) && number == SIGINT) {
    ::_exit(kInterrupted);
  }
  request_interrupt();
}

}  // namespace

Interrupt::Interrupt() {
  const std::scoped_lock locked(objects_lock);
  if (n_objects++ > 0) return;
  first_signal = 0;
  struct sigaction action {};
  action.sa_flags = SA_RESTART;  // restart interrupted reads and writes
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : note_signal;
    ::sigaction(kSignals[i], nullptr, &handlers_before[i]);
    const bool ignored = handlers_before[i].sa_handler == SIG_IGN;  // by nohup or a shell's &
    if (!ignored) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  const std::scoped_lock locked(objects_lock);
  if (--n_objects > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &handlers_before[i], nullptr);
  }
  first_signal = 0;
  clear_interrupt();
}

int Interrupt::signal() const { return first_signal; }

}  // namespace causeway::train
