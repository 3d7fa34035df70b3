// The threads that generate one dataset: one CPU thread (Solo), or a GPU thread block (Block, in a
// CUDA file). Team code is written once: every thread runs it with the same scalars and shares
// loops through these functions. The order of sums is part of the contract: 32 lanes, each over
// every 32nd element in turn, then folded 16, 8, 4, 2, 1.
#pragma once

#include "causeway/core/host_device.h"
#include "causeway/core/interrupt.h"
#include "causeway/random/elementary.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace causeway::prior {

inline constexpr int kLanes = 32;

// Column lengths are padded to a multiple of this.
inline constexpr int kRowPadding = 32;

CAUSEWAY_HOST_DEVICE int padded_rows(int n_rows) {
  return (n_rows + kRowPadding - 1) / kRowPadding * kRowPadding;
}

// Receives the sampled parameters by name in host runs. GPU teams have none.
class Trace {
 public:
  virtual ~Trace() = default;
  virtual void note(const char* name, double value) = 0;
  virtual void array(const char* name, const float* values, std::int64_t count) = 0;
};

// A monotone integer key of a float: -0 sorts below 0, NaN at an end.
CAUSEWAY_HOST_DEVICE std::uint32_t order_key(float x) {
  const std::uint32_t bits = elementary::bits_of(x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// Inverse of order_key.
CAUSEWAY_HOST_DEVICE float from_order_key(std::uint32_t key) {
  return elementary::from_bits((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

// The 32 lanes as one thread.
struct SoloLanes {
  // True for the one lane that does unshared work.
  CAUSEWAY_HOST_DEVICE bool is_leader() const { return true; }
  // Barrier between a lane's writes and other lanes' reads.
  CAUSEWAY_HOST_DEVICE void sync() const {}
  template <class F>
  float sum(int n, const F& f) const {
    float lane[kLanes] = {};
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
    }
    for (int k = 0; i + k < n; ++k) lane[k] += f(i + k);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
    }
    return lane[0];
  }
  // Maximum of finite values; `first` if n is 0.
  template <class F>
  CAUSEWAY_HOST_DEVICE float greatest(int n, float first, const F& f) const {
    float result = first;
    for (int i = 0; i < n; ++i) {
      const float value = f(i);
      result = value > result ? value : result;
    }
    return result;
  }
  template <class F>
  CAUSEWAY_HOST_DEVICE void each(int n, const F& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  // Calls take(i, make(i)) for i = 0 ... n - 1: lanes compute make in parallel, and every lane
  // takes the results in order.
  template <class Make, class Take>
  CAUSEWAY_HOST_DEVICE void in_order(int n, const Make& make, const Take& take) const {
    for (int i = 0; i < n; ++i) take(i, make(i));
  }
  // Swaps value(i) and value(other(i)) for i = n - 1 ... 1.
  template <class Other, class Value>
  CAUSEWAY_HOST_DEVICE void swap_downward(int n, const Other& other, const Value& value) const {
    for (int i = n - 1; i > 0; --i) {
      const int j = other(i);
      const float moved = value(i);
      value(i) = value(j);
      value(j) = moved;
    }
  }
  // Calls put(i, c, place) for c = which(i) of n entries, with the next free place of c. Entries
  // are processed in any order.
  template <class Which, class Put>
  void places(std::int32_t* next, int n, const Which& which, const Put& put) const {
    for (int i = 0; i < n; ++i) {
      const int c = which(i);
      put(i, c, next[c]++);
    }
  }
  // Exclusive prefix sum, in place.
  void exclusive_sum(std::int32_t* values, int n) const {
    std::int32_t sum = 0;
    for (int i = 0; i < n; ++i) {
      const std::int32_t value = values[i];
      values[i] = sum;
      sum += value;
    }
  }
};

struct Solo {
  static constexpr int kRows = 32;  // rows per vectorised block
  static constexpr bool kTraces = true;
  Trace* trace = nullptr;
  bool interruptible = false;

  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  // Whether to give up; the dataset is then incomplete.
  bool stops() const { return interruptible && interrupt_requested(); }
  // Computes f() once; every thread gets the result.
  template <class F>
  float for_all(const F& f) const {
    return f();
  }
  // Increments and returns the previous value.
  int count(std::int32_t* counter) const { return (*counter)++; }
  // Adds to a 64-bit integer.
  void add_wide(std::int32_t* to, std::int64_t value) const {
    std::int64_t sum;
    std::memcpy(&sum, to, sizeof(sum));
    sum += value;
    std::memcpy(to, &sum, sizeof(sum));
  }
  // Logical or over the team; bitwise or over the team. Both are barriers.
  bool any(bool value) const { return value; }
  std::uint64_t any_bits(std::uint64_t bits) const { return bits; }

  // Stable argsort of n values; `order` has order_space(n) words.
  static std::int64_t order_space(int n) {
    std::int64_t space = 1;  // as much as a thread block needs
    while (space < n) space *= 2;
    return space;
  }
  void order_of(const float* values, int n, std::uint32_t* order) const {
    for (int i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order, order + n, [&](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t key_a = order_key(values[a]);
      const std::uint32_t key_b = order_key(values[b]);
      return key_a < key_b || (key_a == key_b && a < b);
    });
  }

  // Calls f(c, lanes) for every column, each shared by 32 lanes.
  template <class F>
  void columns(int n_columns, const F& f) const {
    for (int c = 0; c < n_columns; ++c) f(c, SoloLanes{});
  }
};

template <class Team, class F>
CAUSEWAY_HOST_DEVICE void for_each(const Team& team, int n, const F& f) {
  for (int i = team.rank(); i < n; i += team.size()) f(i);
}

// Calls f(first) for every block of Team::kRows rows; the last may reach into the padding.
template <class Team, class F>
CAUSEWAY_HOST_DEVICE void for_rows(const Team& team, int n_rows, const F& f) {
  for (int row = team.rank() * Team::kRows; row < n_rows; row += team.size() * Team::kRows) f(row);
}

// Calls f(first, column) for every block of kRows rows of every column, so that all threads have
// work with few rows.
template <int kRows, class Team, class F>
CAUSEWAY_HOST_DEVICE void for_cells(const Team& team, int n_rows, int n_columns, const F& f) {
  const int of_column = padded_rows(n_rows) / kRows;  // so that a warp stays within a column
  for (int at = team.rank(); at < of_column * n_columns; at += team.size()) {
    const int column = at / of_column;
    const int row = (at - column * of_column) * kRows;
    if (row < n_rows) f(row, column);
  }
}

template <class Team>
CAUSEWAY_HOST_DEVICE void note(const Team& team, const char* name, double value) {
  if constexpr (Team::kTraces) {
    if (team.trace != nullptr) team.trace->note(name, value);
  }
}

template <class Team>
CAUSEWAY_HOST_DEVICE void note_array(const Team& team, const char* name, const float* values,
                                     std::int64_t count) {
  if constexpr (Team::kTraces) {
    if (team.trace != nullptr) team.trace->array(name, values, count);
  }
}

}  // namespace causeway::prior
