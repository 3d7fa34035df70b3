#include "causeway/runtime/threads.h"

#include "causeway/core/error.h"

#include <atomic>
#include <string>

#include <omp.h>
#include <pthread.h>

extern "C" void openblas_set_num_threads(int count);

namespace causeway {

namespace {

std::atomic<int> chosen{0};

// OpenMP's threads do not exist in a process made by fork(), where it would wait for them forever.
// Such a process computes with one thread, and so does BLAS, which uses OpenMP too.
std::atomic<bool> is_forked{false};

[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, [] {
  is_forked = true;
  openblas_set_num_threads(1);
});

bool inside_piece() {
#if defined(__SANITIZE_THREAD__)
  if (internal::in_piece) return true;  // files without the sanitizer use OpenMP
#endif
  return omp_in_parallel() != 0;
}

}  // namespace

int thread_count() {
  if (inside_piece() || is_forked.load(std::memory_order_relaxed)) return 1;
  const int count = chosen.load(std::memory_order_relaxed);
  return count > 0 ? count : omp_get_max_threads();
}

void set_thread_count(int count) {
  if (count < 1) {
    fail(ErrorKind::invalid_argument, "threads",
         "the number of threads must be 1 or more, got " + std::to_string(count));
  }
  chosen = count;
  if (!is_forked) openblas_set_num_threads(count);
}

}  // namespace causeway
