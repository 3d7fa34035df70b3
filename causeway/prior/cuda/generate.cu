// Datasets on the GPU: a block of threads each, from a counter that all blocks share, until none is
// left; a rejected attempt is made again by the same block, without the host. Bound by arithmetic
// and latency, not by memory; compiled without contraction, so that the bits are the CPU's.
#include "causeway/prior/generate.h"

#include "causeway/runtime/driver.h"
#include "causeway/runtime/launch.h"
#include "causeway/runtime/pool.h"

#include <algorithm>

namespace causeway::prior::cuda {

namespace {

constexpr int kThreads = 512;

// A warp.
struct WarpLanes {
  int lane;

  __device__ __forceinline__ void meet() const { __syncwarp(); }
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
  __device__ __forceinline__ int place_of_greatest(int n, const F& f) const {
    float best = -1.0f;
    int place = -1;
    for (int i = lane; i < n; i += kLanes) {
      const float value = f(i);
      place = value > best ? i : place;
      best = value > best ? value : best;
    }
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, mask);
      const int there = __shfl_xor_sync(0xffffffffu, place, mask);
      const bool takes = other > best || (other == best && there >= 0 && there < place);
      place = takes ? there : place;
      best = takes ? other : best;
    }
    return place;
  }
  template <class F>
  __device__ __forceinline__ void each(int n, const F& f) const {
    for (int i = lane; i < n; i += kLanes) f(i);
  }
  __device__ __forceinline__ bool leads() const { return lane == 0; }
  template <class Make, class Take>
  __device__ __forceinline__ void in_turn(int n, const Make& make, const Take& take) const {
    for (int first = 0; first < n; first += kLanes) {
      decltype(make(0)) own{};
      if (first + lane < n) own = make(first + lane);
      const int here = n - first < kLanes ? n - first : kLanes;
      for (int i = 0; i < here; ++i) take(first + i, __shfl_sync(0xffffffffu, own, i));
    }
  }
  // The lanes of the same c take places in their order; the first of them moves `next` on.
  template <class Which, class Put>
  __device__ __forceinline__ void places(std::int32_t* next, int n, const Which& which,
                                         const Put& put) const {
    for (int first = 0; first < n; first += kLanes) {
      const int i = first + lane;
      const int c = i < n ? which(i) : -1;
      const unsigned same = __match_any_sync(0xffffffffu, c);
      const int leader = __ffs(static_cast<int>(same)) - 1;
      int place = 0;
      if (lane == leader && c >= 0) {
        place = next[c];
        next[c] = place + __popc(same);
      }
      place = __shfl_sync(0xffffffffu, place, leader);
      if (i < n) put(i, c, place + __popc(same & ((1u << lane) - 1)));
      __syncwarp();
    }
  }
  __device__ __forceinline__ void add_before(std::int32_t* values, int n) const {
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

// A block of threads.
struct Block {
  static constexpr int kRows = 1;
  static constexpr bool kTraces = false;
  unsigned long long* bits;  // in shared memory

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int size() const { return kThreads; }
  // The barrier for threads that may have come apart within their warp: of functions that are
  // called, not inlined, __syncthreads would ask for more than they promise.
  __device__ __forceinline__ void sync() const { asm volatile("barrier.sync 0;" ::: "memory"); }
  __device__ __forceinline__ int add(std::int32_t* to, std::int32_t value) const {
    return atomicAdd(to, value);
  }
  __device__ __forceinline__ void add_wide(std::int32_t* to, std::int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  }
  __device__ __forceinline__ bool any(bool value) const { return any_bits(value ? 1 : 0) != 0; }
  __device__ __forceinline__ std::uint64_t any_bits(std::uint64_t own) const {
    if (threadIdx.x == 0) *bits = 0;
    sync();
    atomicOr(bits, static_cast<unsigned long long>(own));
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
  // Bitonic; what lies beyond the numbers comes last.
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

constexpr int kWidths = 256;  // those of more features count as one
constexpr std::int64_t kMostOrdered = 1 << 20;

// Puts the datasets of most features first: among them are those that take longest by far, and
// blocks should not begin one of them when others are about to end. Any order gives the same
// datasets.
__global__ void __launch_bounds__(1024)
    order_kernel(Recipe recipe, std::uint64_t seed, BatchOut out, std::int32_t* order) {
  __shared__ int places[kWidths + 1];
  const auto width_of = [&](std::int64_t k) {
    const DatasetShape shape = shape_of(recipe, Draws::of(seed, out.index_of(k)));
    return shape.n_features < kWidths ? kWidths - shape.n_features : 0;
  };
  for (int i = threadIdx.x; i <= kWidths; i += blockDim.x) places[i] = 0;
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < out.count; k += blockDim.x)
    atomicAdd(places + width_of(k), 1);
  __syncthreads();
  if (threadIdx.x < kLanes)
    WarpLanes{static_cast<int>(threadIdx.x)}.add_before(places, kWidths + 1);
  __syncthreads();
  for (std::int64_t k = threadIdx.x; k < out.count; k += blockDim.x)
    order[atomicAdd(places + width_of(k), 1)] = static_cast<std::int32_t>(k);
}

// In the order given, if there is one.
__global__ void __launch_bounds__(kThreads, 2)
    generate_kernel(Recipe recipe, std::uint64_t seed, BatchOut out, float* arenas,
                    unsigned long long* next, const std::int32_t* order) {
  __shared__ Shared shared;
  __shared__ unsigned long long bits;
  __shared__ unsigned long long taken;
  const Block team{&bits};
  float* arena = arenas + blockIdx.x * recipe.arena_floats;
  while (true) {
    if (threadIdx.x == 0) taken = atomicAdd(next, 1ull);
    team.sync();
    const auto ticket = static_cast<std::int64_t>(taken);
    team.sync();
    if (ticket >= out.count) return;
    const std::int64_t k = order != nullptr ? order[ticket] : ticket;
    const DatasetOut to = out.of(k);
    const DatasetInfo info =
        make_dataset(team, recipe, seed, out.index_of(k), 0, OtherWorld{}, shared, arena, to);
    if (threadIdx.x == 0) out.info[k] = info;
    if (out.places != nullptr) continue;
    const int unused = (out.rows - info.n_rows) * out.features;
    float* beyond = to.x + static_cast<std::int64_t>(info.n_rows) * out.features;
    for (int i = threadIdx.x; i < unused; i += kThreads) beyond[i] = 0.0f;
    for (int i = info.n_rows + static_cast<int>(threadIdx.x); i < out.rows; i += kThreads)
      to.y[i] = 0.0f;
  }
}

constexpr int kFew = 4;                  // features of the kernel below
constexpr int kPerWarp = kLanes / kFew;  // datasets whose terms a warp draws at once

// Plain datasets of the simple family with four features: a warp draws the terms of eight datasets,
// a lane each, and then makes one after the other, a lane a row at a time. Bytes: the rows once; at
// 64 rows bound by arithmetic (Philox and four functions a row).
__global__ void __launch_bounds__(kThreads) simple_kernel(std::uint64_t seed, BatchOut out) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const std::int64_t first =
      (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kLanes * kPerWarp;
  if (first >= out.count) return;
  const Draws own = Draws::of(seed, out.index_of(first + lane / kFew));
  const SimpleTerm own_term = simple_term(own, lane % kFew);
  const int here = out.count - first < kPerWarp ? static_cast<int>(out.count - first) : kPerWarp;
  for (int d = 0; d < here; ++d) {
    const Draws draws{__shfl_sync(0xffffffffu, own.key0, d * kFew),
                      __shfl_sync(0xffffffffu, own.key1, d * kFew), 0};
    SimpleTerm terms[kFew];
#pragma unroll
    for (int f = 0; f < kFew; ++f) {
      const int from = d * kFew + f;
      terms[f].weight = __shfl_sync(0xffffffffu, own_term.weight, from);
      terms[f].scale = __shfl_sync(0xffffffffu, own_term.scale, from);
      terms[f].shift = __shfl_sync(0xffffffffu, own_term.shift, from);
      const int kind = __shfl_sync(0xffffffffu, static_cast<int>(own_term.kind), from);
      terms[f].kind = static_cast<Term>(kind);
    }
    float4* x = reinterpret_cast<float4*>(out.x) + (first + d) * out.rows;
    float* y = out.y + (first + d) * out.rows;
    for (int row = lane; row < out.rows; row += kLanes) {
      float values[kFew];
      simple_features(draws, row, 0, values);
      float sum = 0.0f;
#pragma unroll
      for (int f = 0; f < kFew; ++f) sum = add_term(terms[f], values[f], sum);
      x[row] = make_float4(values[0], values[1], values[2], values[3]);
      y[row] = sum;
    }
  }
}

// Blocks that run at once, as long as their arenas take no more than half of the device's memory.
std::int64_t blocks_at_once(int device, const Recipe& recipe) {
  int per_processor = 0;
  driver::check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, generate_kernel, kThreads, 0),
      "prior");
  int processors = 0;
  driver::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                "prior");
  std::size_t free = 0;
  std::size_t total = 0;
  driver::check(cudaMemGetInfo(&free, &total), "prior");
  const auto arena_bytes = static_cast<std::size_t>(recipe.arena_floats) * sizeof(float);
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, total / 2 / arena_bytes));
  return std::min<std::int64_t>(std::int64_t{per_processor} * processors, most);
}

}  // namespace

void generate_simple(StreamView stream, std::uint64_t seed, const BatchOut& out) {
  if (out.count == 0) return;
  constexpr std::int64_t kPerBlock = kThreads / kLanes * kPerWarp;
  const auto blocks = static_cast<unsigned>((out.count + kPerBlock - 1) / kPerBlock);
  launch({"prior_simple", stream, dim3(blocks), dim3(kThreads)}, simple_kernel, seed, out);
}

void generate(StreamView stream, const Recipe& recipe, std::uint64_t seed, const BatchOut& out) {
  if (out.count == 0) return;
  const driver::DeviceScope scope(stream.device().index);
  const std::int64_t blocks = std::min(out.count, blocks_at_once(stream.device().index, recipe));
  auto& pool = pool_of(stream.device());
  const Buffer arenas =
      pool.allocate(static_cast<std::size_t>(blocks * recipe.arena_floats) * sizeof(float), stream);
  const Buffer next = pool.allocate(sizeof(unsigned long long), stream);
  driver::fill_async(stream.device().index, next.data(), 0, sizeof(unsigned long long),
                     stream.handle());
  Buffer order;
  const bool varied = recipe.family == Family::graph || recipe.family == Family::mix;
  if (varied && out.count > blocks && out.count <= kMostOrdered) {
    order = pool.allocate(static_cast<std::size_t>(out.count) * sizeof(std::int32_t), stream);
    launch({"prior_order", stream, dim3(1), dim3(1024)}, order_kernel, recipe, seed, out,
           reinterpret_cast<std::int32_t*>(order.data()));
  }
  launch({"prior", stream, dim3(static_cast<unsigned>(blocks)), dim3(kThreads)}, generate_kernel,
         recipe, seed, out, reinterpret_cast<float*>(arenas.data()),
         reinterpret_cast<unsigned long long*>(next.data()),
         reinterpret_cast<const std::int32_t*>(order.data()));
}

}  // namespace causeway::prior::cuda
