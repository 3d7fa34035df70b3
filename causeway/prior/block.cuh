// A CUDA thread block as the team that generates one dataset.
#pragma once

#include "causeway/prior/device/team.h"

#include <cuda_runtime.h>

namespace causeway::prior::cuda {

namespace {

constexpr int kThreads = 512;

struct WarpLanes {
  int lane;

  __device__ __forceinline__ void sync() const { __syncwarp(); }
  template <class F>
  __device__ __forceinline__ float sum(int n, const F& f) const {
    float total = 0.0f;
    for (int i = lane; i < n; i += kLanes) total += f(i);
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2)
      total += __shfl_xor_sync(0xffffffffu, total, mask);
    return total;
  }
  template <class F>
  __device__ __forceinline__ float greatest(int n, float first, const F& f) const {
    float result = first;
    for (int i = lane; i < n; i += kLanes) {
      const float value = f(i);
      result = value > result ? value : result;
    }
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, result, mask);
      result = other > result ? other : result;
    }
    return result;
  }
  template <class F>
  __device__ __forceinline__ void each(int n, const F& f) const {
    for (int i = lane; i < n; i += kLanes) f(i);
  }
  __device__ __forceinline__ bool is_leader() const { return lane == 0; }
  template <class Make, class Take>
  __device__ __forceinline__ void in_order(int n, const Make& make, const Take& take) const {
    for (int first = 0; first < n; first += kLanes) {
      decltype(make(0)) own{};
      if (first + lane < n) own = make(first + lane);
      const int here = n - first < kLanes ? n - first : kLanes;
      for (int i = 0; i < here; ++i) take(first + i, __shfl_sync(0xffffffffu, own, i));
    }
  }
  // Up to one value per lane the swap uses warp shuffles, beyond that memory.
  template <class Other, class Value>
  __device__ __forceinline__ void swap_downward(int n, const Other& other,
                                                const Value& value) const {
    if (n > kLanes) {
      in_order(
          n - 1, [&](int k) { return other(n - 1 - k); },
          [&](int k, int j) {
            if (!is_leader()) return;
            const int i = n - 1 - k;
            const float moved = value(i);
            value(i) = value(j);
            value(j) = moved;
          });
      return;
    }
    float own = lane < n ? value(lane) : 0.0f;
    const int own_other = lane < n && lane > 0 ? other(lane) : 0;
    for (int i = n - 1; i > 0; --i) {
      const int j = __shfl_sync(0xffffffffu, own_other, i);
      const int from = lane == i ? j : (lane == j ? i : lane);
      own = __shfl_sync(0xffffffffu, own, from);
    }
    if (lane < n) value(lane) = own;
  }
  // Processes a warp's worth of entries at a time. Lanes with the same c take consecutive places in
  // lane order; the first of them does the atomic add. Lanes past the end repeat the last entry.
  template <class Which, class Put>
  __device__ __forceinline__ void places(std::int32_t* next, int n, const Which& which,
                                         const Put& put) const {
    constexpr int kAhead = 4;
    for (int first = lane; first - lane < n; first += kAhead * kLanes) {
      int c[kAhead];
      unsigned same[kAhead];
      int place[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int i = first + u * kLanes;
        c[u] = which(i < n ? i : n - 1);
        if (i >= n) c[u] = -1;
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        same[u] = __match_any_sync(0xffffffffu, c[u]);
        const bool asks = lane == __ffs(static_cast<int>(same[u])) - 1 && c[u] >= 0;
        place[u] = asks ? atomicAdd(next + c[u], __popc(same[u])) : 0;
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int leader = __ffs(static_cast<int>(same[u])) - 1;
        const int at = __shfl_sync(0xffffffffu, place[u], leader);
        if (c[u] >= 0) put(first + u * kLanes, c[u], at + __popc(same[u] & ((1u << lane) - 1)));
      }
    }
  }
  __device__ __forceinline__ void exclusive_sum(std::int32_t* values, int n) const {
    std::int32_t sum = 0;
    for (int first = 0; first < n; first += kLanes) {
      const std::int32_t own = first + lane < n ? values[first + lane] : 0;
      std::int32_t through = own;
#pragma unroll
      for (int step = 1; step < kLanes; step *= 2) {
        const std::int32_t other = __shfl_up_sync(0xffffffffu, through, step);
        if (lane >= step) through += other;
      }
      if (first + lane < n) values[first + lane] = sum + through - own;
      sum += __shfl_sync(0xffffffffu, through, kLanes - 1);
    }
  }
};

struct Block {
  static constexpr int kRows = 1;
  static constexpr bool kTraces = false;
  unsigned long long* bits;  // in shared memory

  static constexpr int kStage = 2480;  // floats; two blocks fit in 32 KiB, the rest stays L1 cache

  __device__ __forceinline__ float* stage() const {
    __shared__ alignas(16) float memory[kStage];
    return memory;
  }
  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int size() const { return kThreads; }
  // A barrier that is valid when the threads of a warp have diverged. Inside functions that are not
  // inlined, __syncthreads would require convergence.
  __device__ __forceinline__ void sync() const { asm volatile("barrier.sync 0;" ::: "memory"); }
  __device__ __forceinline__ bool stops() const { return false; }
  // Computed by one warp.
  template <class F>
  __device__ __forceinline__ float for_all(const F& f) const {
    __shared__ float value;
    if (threadIdx.x < kLanes) {
      const float own = f();
      if (threadIdx.x == 0) value = own;
    }
    sync();
    const float result = value;
    sync();
    return result;
  }
  __device__ __forceinline__ int count(std::int32_t* counter) const {
    return atomicAdd(counter, 1);
  }
  __device__ __forceinline__ void add_wide(std::int32_t* to, std::int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  }
  __device__ __forceinline__ bool any(bool value) const { return any_bits(value ? 1 : 0) != 0; }
  __device__ __forceinline__ std::uint64_t any_bits(std::uint64_t own) const {
    if (threadIdx.x == 0) *bits = 0;
    sync();
    if (own != 0) atomicOr(bits, static_cast<unsigned long long>(own));
    sync();
    const std::uint64_t all = *bits;
    sync();
    return all;
  }
  template <class F>
  __device__ __forceinline__ void columns(int n_columns, const F& f) const {
    const WarpLanes lanes{static_cast<int>(threadIdx.x % kLanes)};
    for (int c = static_cast<int>(threadIdx.x / kLanes); c < n_columns; c += kThreads / kLanes) {
      f(c, lanes);
    }
  }

  static __device__ __forceinline__ std::int64_t order_space(int n) {
    std::int64_t space = 1;
    while (space < n) space *= 2;
    return space;
  }
  // Bitonic sort; padding beyond the n values sorts last.
  __device__ __noinline__ void order_of(const float* values, int n, std::uint32_t* order) const {
    const int space = static_cast<int>(order_space(n));
    for (int i = rank(); i < space; i += kThreads) order[i] = static_cast<std::uint32_t>(i);
    sync();
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const auto limit = static_cast<std::uint32_t>(n);
      if (a >= limit || b >= limit) return a < b;
      const std::uint32_t key_a = order_key(values[a]);
      const std::uint32_t key_b = order_key(values[b]);
      return key_a < key_b || (key_a == key_b && a < b);
    };
    for (int size = 2; size <= space; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        for (int i = rank(); i < space; i += kThreads) {
          const int j = i ^ step;
          if (j < i) continue;
          const bool upward = (i & size) == 0;
          if (before(order[j], order[i]) == upward) {
            const std::uint32_t moved = order[i];
            order[i] = order[j];
            order[j] = moved;
          }
        }
        sync();
      }
    }
  }
};

// A team of one thread that draws plans but generates no rows.
struct PlanTeam {
  static constexpr int kRows = 1;
  static constexpr bool kTraces = false;

  __device__ __forceinline__ int rank() const { return 0; }
  __device__ __forceinline__ int size() const { return 1; }
  __device__ __forceinline__ void sync() const {}
  __device__ __forceinline__ bool stops() const { return false; }
  template <class F>
  __device__ __forceinline__ void columns(int n_columns, const F& f) const {
    for (int c = 0; c < n_columns; ++c) f(c, SoloLanes{});
  }
};

}  // namespace

}  // namespace causeway::prior::cuda
