// The least or the greatest of neighbouring elements, and where it stands. Whether a NaN went by is
// gathered apart from the extreme, so that a step is a plain choice of two numbers and lanes do not
// wait for each other. Bound by memory: elements are read once.
#pragma once

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/reduce/reducers_device.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace causeway::kernels::cpu {

template <class C>
struct Extreme {
  C value;   // of what is not NaN
  bool nan;  // whether there was one
};

// The better of two; a NaN `x` leaves `best`, which is none.
template <class Better, class C>
CAUSEWAY_INLINE inline C better_of(C x, C best) {
#if defined(__aarch64__)
  // A single instruction here, while others have one for the comparison and choice below.
  if constexpr (std::is_floating_point_v<C>) {
    return std::is_same_v<Better, functors::Less> ? std::fmin(x, best) : std::fmax(x, best);
  }
#endif
  return Better()(x, best) ? x : best;
}

template <class T>
bool holds_nan(const T* in, std::int64_t count) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<Compute<T>>(in[i]);
    found |= static_cast<int>(x != x);
  }
  return found != 0;
}

template <class Better, class T>
Extreme<Compute<T>> extreme_of(const T* in, std::int64_t count) {
  using C = Compute<T>;
  constexpr std::int64_t kLanes = 128 / sizeof(C);
  constexpr bool kLess = std::is_same_v<Better, functors::Less>;
  C best[kLanes];
  C sum[kLanes];  // NaN where an element was, or where infinities of both signs met
  std::fill_n(best, kLanes, kLess ? reducers::highest<C>() : reducers::lowest<C>());
  std::fill_n(sum, kLanes, C(0));
  const auto take = [&](std::int64_t lane, T element) CAUSEWAY_INLINE {
    const auto x = static_cast<C>(element);
    best[lane] = better_of<Better>(x, best[lane]);
    if constexpr (std::is_floating_point_v<C>) sum[lane] += x;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) take(lane, in[i + lane]);
  }
  for (std::int64_t lane = 0; lane < count - i; ++lane) take(lane, in[i + lane]);
  for (std::int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::int64_t lane = 0; lane < step; ++lane) {
      best[lane] = better_of<Better>(best[lane + step], best[lane]);
      sum[lane] += sum[lane + step];
    }
  }
  return {best[0], sum[0] != sum[0] && holds_nan(in, count)};
}

// The first place of the extreme; the first NaN's, where there is one. The best block is searched
// once it is known, so that only its elements are looked at twice.
template <class Better, class T>
reducers::Place<Compute<T>> place_of_extreme(const T* in, std::int64_t count) {
  constexpr std::int64_t kBlock = 4096;  // a block stays in the nearest cache
  auto best = extreme_of<Better>(in, std::min(kBlock, count));
  std::int64_t at = 0;
  for (std::int64_t start = kBlock; start < count && !best.nan; start += kBlock) {
    const auto block = extreme_of<Better>(in + start, std::min(kBlock, count - start));
    if (block.nan || Better()(block.value, best.value)) {
      best = block;
      at = start;
    }
  }
  using C = Compute<T>;
  const auto matches = [&](std::int64_t i) {
    const auto x = static_cast<C>(in[i]);
    return best.nan ? x != x : x == best.value;
  };
  // Runs are asked whether they hold a match at all, which vectorises, before one is walked.
  constexpr std::int64_t kRun = 128;
  for (; at + kRun <= count; at += kRun) {
    int found = 0;
    for (std::int64_t i = at; i < at + kRun; ++i) found |= static_cast<int>(matches(i));
    if (found != 0) break;
  }
  while (at + 1 < count && !matches(at)) ++at;
  return {static_cast<C>(in[at]), at};
}

}  // namespace causeway::kernels::cpu
