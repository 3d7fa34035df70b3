// Parallel loops over the CPU's threads.
#pragma once

#include "causeway/core/interrupt.h"

#include <algorithm>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace causeway {

// The number of threads parallel_for uses; default: OMP_NUM_THREADS, or all hardware threads.
int thread_count();
// Must be 1 or more; also sets the number of BLAS threads.
void set_thread_count(int count);

namespace internal {

// Calls body(piece) for pieces 0 to n_pieces - 1, each on its own thread.
#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not understand OpenMP's synchronisation and would report races. Plain
// threads are used under it.
inline thread_local bool in_piece = false;

template <class Body>
void run_pieces(std::int64_t n_pieces, const Body& body) {
  std::vector<std::thread> threads;
  for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
    threads.emplace_back([&body, piece] {
      in_piece = true;
      body(piece);
    });
  }
  for (std::thread& thread : threads) thread.join();
}
#else
template <class Body>
void run_pieces(std::int64_t n_pieces, const Body& body) {
#pragma omp parallel for num_threads(static_cast <int>(n_pieces)) schedule(static, 1)
  for (std::int64_t piece = 0; piece < n_pieces; ++piece) body(piece);
}
#endif

}  // namespace internal

// Calls body(begin, end) for pieces of [0, count), each with at least `grain` items except the
// last, one per thread. Runs in the calling thread if there is one piece or if it is already inside
// a parallel region. `body` must not throw. In an interruptible thread, pieces are divided further;
// after an interrupt request the remaining ones are skipped, and parallel_for throws.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = std::min<std::int64_t>(thread_count(), (count + grain - 1) / grain);
  const bool interruptible = internal::is_interruptible;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    if (!interruptible) return body(begin, end);
    constexpr std::int64_t kChecks = 64;
    const std::int64_t step = std::max(grain, (end - begin + kChecks - 1) / kChecks);
    for (std::int64_t at = begin; at < end && !interrupt_requested(); at += step) {
      body(at, std::min(at + step, end));
    }
  };
  if (pieces <= 1) {
    run(0, count);
  } else {
    internal::run_pieces(pieces, [&](std::int64_t piece) {
      const Interruptible off(false);  // the caller is one of the threads and must not throw here
      const std::int64_t begin = count / pieces * piece + std::min(piece, count % pieces);
      run(begin, begin + count / pieces + (piece < count % pieces ? 1 : 0));
    });
  }
  check_interrupt();
}

}  // namespace causeway
