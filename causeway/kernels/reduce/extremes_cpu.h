// The minimum or maximum of adjacent elements, and its position. NaNs are tracked separately, so
// that a step is a plain selection of two numbers and lanes are independent. Bound by memory:
// elements are read once.
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
  C value;   // of the elements that are not NaN
  bool nan;  // whether there was a NaN
};

// The better of two; if `x` is NaN, `best`, which is not.
template <class Better, class C>
CAUSEWAY_INLINE inline C better_of(C x, C best) {
#if defined(__aarch64__)
  // A single instruction on Arm; other CPUs have one for the comparison and selection below.
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
  C sum[kLanes];  // NaN after a NaN, or after infinities of both signs
  std::fill_n(best, kLanes, kLess ? reducers::highest<C>() : reducers::lowest<C>());
  std::fill_n(sum, kLanes, C(0));
  const auto update = [&](std::int64_t lane, T element) CAUSEWAY_INLINE {
    const auto x = static_cast<C>(element);
    best[lane] = better_of<Better>(x, best[lane]);
    if constexpr (std::is_floating_point_v<C>) sum[lane] += x;
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) update(lane, in[i + lane]);
  }
  for (std::int64_t lane = 0; lane < count - i; ++lane) update(lane, in[i + lane]);
  for (std::int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::int64_t lane = 0; lane < step; ++lane) {
      best[lane] = better_of<Better>(best[lane + step], best[lane]);
      sum[lane] += sum[lane + step];
    }
  }
  return {best[0], sum[0] != sum[0] && holds_nan(in, count)};
}

// The first position of the extreme, or of the first NaN. Only the block that contains it is
// searched, so that few elements are read twice.
template <class Better, class T>
reducers::Place<Compute<T>> place_of_extreme(const T* in, std::int64_t count) {
  constexpr std::int64_t kBlock = 4096;  // a block stays in L1
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
  // Runs are tested for a match first, which vectorises, before one is searched.
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
