// Shared by CPU kernels over rows: sums and maxima of a row, lane by lane in a fixed order, and exp
// of non-positive numbers.
#pragma once

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/math_device.h"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kRowLanes = 16;  // independent accumulators
inline constexpr std::int64_t kRowChunk =
    4096;  // elements summed before they are added to the total

// The sum of term(i) for i in [0, count). Chunks are summed in f64.
template <class C, class Term>
CAUSEWAY_INLINE inline C sum_row(std::int64_t count, const Term& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kRowChunk) {
    const std::int64_t end = std::min(count, begin + kRowChunk);
    C lanes[kRowLanes] = {};
    std::int64_t i = begin;
    for (; i + kRowLanes <= end; i += kRowLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < kRowLanes; ++lane) lanes[lane] += term(i + lane);
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) lanes[lane] += term(i);
    for (std::int64_t step = kRowLanes / 2; step > 0; step /= 2) {
      for (std::int64_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
    }
    total += static_cast<double>(lanes[0]);
  }
  return static_cast<C>(total);
}

template <class C>
struct TwoSums {
  C first;
  C second;
};

// Two sums in one pass: term(i) returns the TwoSums of their terms.
template <class C, class Term>
CAUSEWAY_INLINE inline TwoSums<C> two_sums_of_row(std::int64_t count, const Term& term) {
  double first = 0;
  double second = 0;
  for (std::int64_t begin = 0; begin < count; begin += kRowChunk) {
    const std::int64_t end = std::min(count, begin + kRowChunk);
    C firsts[kRowLanes] = {};
    C seconds[kRowLanes] = {};
    std::int64_t i = begin;
    for (; i + kRowLanes <= end; i += kRowLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < kRowLanes; ++lane) {
        const TwoSums<C> both = term(i + lane);
        firsts[lane] += both.first;
        seconds[lane] += both.second;
      }
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) {
      const TwoSums<C> both = term(i);
      firsts[lane] += both.first;
      seconds[lane] += both.second;
    }
    for (std::int64_t step = kRowLanes / 2; step > 0; step /= 2) {
      for (std::int64_t lane = 0; lane < step; ++lane) {
        firsts[lane] += firsts[lane + step];
        seconds[lane] += seconds[lane + step];
      }
    }
    first += static_cast<double>(firsts[0]);
    second += static_cast<double>(seconds[0]);
  }
  return {static_cast<C>(first), static_cast<C>(second)};
}

// The maximum of value(i); NaNs are ignored.
template <class C, class Value>
CAUSEWAY_INLINE inline C max_row(std::int64_t count, const Value& value) {
  C lanes[kRowLanes];
  for (C& lane : lanes) lane = -std::numeric_limits<C>::infinity();
  const auto larger = [](C a, C b) CAUSEWAY_INLINE { return a > b ? a : b; };
  std::int64_t i = 0;
  for (; i + kRowLanes <= count; i += kRowLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kRowLanes; ++lane) {
      lanes[lane] = larger(value(i + lane), lanes[lane]);
    }
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] = larger(value(i), lanes[lane]);
  for (std::int64_t step = kRowLanes / 2; step > 0; step /= 2) {
    for (std::int64_t lane = 0; lane < step; ++lane) {
      lanes[lane] = larger(lanes[lane + step], lanes[lane]);
    }
  }
  return lanes[0];
}

// exp(x) for x <= 0; f32 results below the smallest normal number are 0.
CAUSEWAY_INLINE inline float exp_below_zero(float x) {
  const float result = elementary::exp_within(x < -87.0f ? -87.0f : x);
  return x < -87.0f ? 0.0f : result;
}
CAUSEWAY_INLINE inline double exp_below_zero(double x) { return math::exp(x); }

// Minimum number of rows per thread.
inline std::int64_t row_grain(std::int64_t n_columns) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(n_columns, 1));
}

}  // namespace causeway::kernels::cpu
