// The one way work is spread over the CPU's cores.
#pragma once

#include "causeway/core/interrupt.h"

#include <algorithm>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace causeway {

// How many threads parallel_for uses; at first OMP_NUM_THREADS, or the hardware's.
int thread_count();
// 1 and up; the BLAS library follows.
void set_thread_count(int count);

namespace internal {

// Calls body(piece) for pieces 0 to n_pieces - 1, each on a thread of its own.
#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not see how OpenMP's library hands work to its threads and waits for
// them, and would take all that goes in and out for races. It watches plain threads instead.
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

// Calls body(begin, end) on pieces of [0, count), of at least `grain` items but for the last, each
// by one thread. Runs in the caller where there is one piece or it is in a parallel region already.
// `body` must not throw. In an interruptible thread every piece is cut further, and what is left
// when an interrupt is requested is skipped; then it throws.
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
      const Interruptible off(false);  // the caller is one of the threads, and must not throw here
      const std::int64_t begin = count / pieces * piece + std::min(piece, count % pieces);
      run(begin, begin + count / pieces + (piece < count % pieces ? 1 : 0));
    });
  }
  check_interrupt();
}

}  // namespace causeway
