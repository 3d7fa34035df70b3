// The gradient of an embedding lookup. Bytes: the gradient once, the table's gradient once plus its
// zeros; bound by memory. Lookups are sorted stably by entry; the rows of an entry are then added
// in order, in f32, by threads over its columns. The sorted lookups are divided into windows: rows
// of an entry within a window are added there, and an entry that spans several windows has its
// partial sums added in order in a second step.
#include "causeway/kernels/embedding/embedding.h"

#include "causeway/core/error.h"
#include "causeway/kernels/rows.cuh"
#include "causeway/kernels/sort/sort.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"

#include <bit>

namespace causeway::kernels::cuda {

namespace {

constexpr std::int64_t kWindow = 128;  // lookups

__global__ void __launch_bounds__(kThreads)
    entry_keys_kernel(const std::int64_t* index, std::uint32_t* keys, std::uint32_t* picks,
                      std::int64_t n_indices, std::int64_t n_entries) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n_indices) return;
  const std::int64_t entry = index[at];
  // Indices out of range were reported by the lookup and are ignored here.
  keys[at] = static_cast<std::uint32_t>(entry >= 0 && entry < n_entries ? entry : n_entries);
  picks[at] = static_cast<std::uint32_t>(at);
}

// Lookups sorted by entry.
struct Picks {
  const std::uint32_t* keys;
  const std::uint32_t* sources;
  std::int64_t count;
  std::int64_t n_entries;
  std::int64_t n_columns;

  __device__ __forceinline__ bool same(std::int64_t a, std::int64_t b) const {
    return keys[a] == keys[b];
  }
  // The first position after `at`, in steps of `step`, with another entry; at most `limit`.
  __device__ __forceinline__ std::int64_t end_of_run(std::int64_t at, std::int64_t step,
                                                     std::int64_t limit) const {
    if (at + step >= limit || !same(at, at + step)) return at + step < limit ? at + step : limit;
    std::int64_t low = 1;  // in steps: still the same entry
    std::int64_t high = (limit - at + step - 1) / step;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (same(at, at + middle * step) ? low : high) = middle;
    }
    const std::int64_t end = at + high * step;
    return end < limit ? end : limit;
  }
};

// Two rows of sums per window: for the entry it starts with, and for one that continues after it.
template <class C>
__device__ __forceinline__ C* part_of(C* partial, std::int64_t window, int line,
                                      std::int64_t n_columns) {
  return partial + (window * 2 + line) * n_columns;
}

// Adds n rows in order; row(k) loads the k-th.
template <int kVec, class C, class Row>
__device__ __forceinline__ Values<C, kVec> add_rows(std::int64_t n, const Row& row) {
  constexpr int kUnroll = 8;
  Values<C, kVec> sum{};
  std::int64_t k = 0;
  for (; k + kUnroll <= n; k += kUnroll) {
    Values<C, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) loaded[u] = row(k + u);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) sum.value[i] += loaded[u].value[i];
    }
  }
  for (; k < n; ++k) {
    const Values<C, kVec> loaded = row(k);
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum.value[i] += loaded.value[i];
  }
  return sum;
}

// The block's x dimension covers the columns, its y dimension positions among the sorted lookups.
// Only positions at which an entry or a window starts have work.
template <int kVec, class T>
__global__ void __launch_bounds__(kThreads)
    add_picks_kernel(Picks picks, const T* gradient, T* out, Compute<T>* partial) {
  using C = Compute<T>;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (at >= picks.count || picks.keys[at] >= picks.n_entries) return;
  const bool opens = at % kWindow == 0;
  const bool begins = at == 0 || !picks.same(at, at - 1);
  if (!opens && !begins) return;
  const std::int64_t window = at / kWindow;
  const std::int64_t limit =
      (window + 1) * kWindow < picks.count ? (window + 1) * kWindow : picks.count;
  const std::int64_t end = picks.end_of_run(at, 1, limit);
  const bool ends = end < limit || end == picks.count || !picks.same(at, end);
  for (std::int64_t column = threadIdx.x * kVec; column < picks.n_columns;
       column += blockDim.x * kVec) {
    const auto sum = add_rows<kVec, C>(end - at, [&](std::int64_t k) {
      return unpack(load_vector<kVec>(
          gradient + std::int64_t{picks.sources[at + k]} * picks.n_columns + column));
    });
    if (begins && ends) {
      store_vector(out + std::int64_t{picks.keys[at]} * picks.n_columns + column, pack<T>(sum));
    } else {
      C* to = part_of(partial, window, opens ? 0 : 1, picks.n_columns) + column;
#pragma unroll
      for (int i = 0; i < kVec; ++i) to[i] = sum.value[i];
    }
  }
}

// The block's y dimension covers windows. Only windows in which an entry starts that continues
// after them have work.
template <int kVec, class T>
__global__ void __launch_bounds__(kThreads)
    add_parts_kernel(Picks picks, const Compute<T>* partial, T* out) {
  using C = Compute<T>;
  wait_for_previous();
  const std::int64_t window = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const std::int64_t first = window * kWindow;
  const std::int64_t next = first + kWindow;
  if (next >= picks.count || !picks.same(next - 1, next)) return;
  if (picks.keys[next] >= picks.n_entries) return;
  const bool fills = picks.same(first, next);                      // the window has one entry
  if (fills && first > 0 && picks.same(first - 1, first)) return;  // which started before it
  // Every window the entry extends into starts with it.
  const std::int64_t end = picks.end_of_run(next, kWindow, picks.count);
  const std::int64_t n_more = (end - next + kWindow - 1) / kWindow;
  for (std::int64_t column = threadIdx.x * kVec; column < picks.n_columns;
       column += blockDim.x * kVec) {
    const auto sum = add_rows<kVec, C>(n_more + 1, [&](std::int64_t k) {
      const int line = k == 0 && !fills ? 1 : 0;
      const C* from = part_of(partial, window + k, line, picks.n_columns) + column;
      Values<C, kVec> values;
#pragma unroll
      for (int i = 0; i < kVec; ++i) values.value[i] = from[i];
      return values;
    });
    store_vector(out + std::int64_t{picks.keys[next]} * picks.n_columns + column, pack<T>(sum));
  }
}

// Width for the columns, height for the remaining threads.
dim3 block_over(std::int64_t n_vectors) {
  const auto width = static_cast<unsigned>(
      std::min<std::uint64_t>(kThreads, std::bit_ceil(static_cast<std::uint64_t>(n_vectors))));
  return dim3(width, kThreads / width);
}

dim3 grid_of(std::int64_t count, unsigned per_block) {
  return dim3(static_cast<unsigned>((count + per_block - 1) / per_block));
}

template <int kVec, class T>
void add_picks(StreamView stream, const Picks& picks, const T* gradient, T* out) {
  using C = Compute<T>;
  const std::int64_t n_windows = (picks.count + kWindow - 1) / kWindow;
  const Buffer space =
      pool_of(stream.device())
          .allocate(static_cast<std::size_t>(n_windows * 2 * picks.n_columns) * sizeof(C), stream);
  auto* partial = reinterpret_cast<C*>(space.data());
  const dim3 block = block_over(picks.n_columns / kVec);
  launch({"embedding_gradient", stream, grid_of(picks.count, block.y), block},
         add_picks_kernel<kVec, T>, picks, gradient, out, partial);
  const Launch second("embedding_gradient", stream, grid_of(n_windows, block.y), block);
  launch(second.overlapping(), add_parts_kernel<kVec, T>, picks, static_cast<const C*>(partial),
         out);
}

}  // namespace

void embedding_gradient(StreamView stream, const Operand& gradient, const Operand& index,
                        const Operand& out, std::int64_t n_indices, std::int64_t n_entries,
                        std::int64_t n_columns) {
  if (n_entries == 0 || n_columns == 0) return;
  if (n_indices > std::int64_t{0x7fffffff} || n_entries > std::int64_t{0x7fffffff}) {
    fail(ErrorKind::invalid_argument, "embedding_gradient",
         "got more than 2^31 - 1 indices or entries; split the call");
  }
  const std::size_t bytes = static_cast<std::size_t>(n_entries * n_columns) * size_of(out.dtype);
  driver::fill_async(stream.device().index, out.data, 0, bytes, stream.handle());
  if (n_indices == 0) return;
  const auto n = static_cast<std::size_t>(n_indices);
  const Buffer space = pool_of(stream.device()).allocate(4 * n * sizeof(std::uint32_t), stream);
  SortPairs<std::uint32_t> pairs;
  pairs.keys = reinterpret_cast<std::uint32_t*>(space.data());
  pairs.other_keys = pairs.keys + n;
  pairs.values = pairs.keys + 2 * n;
  pairs.other_values = pairs.keys + 3 * n;
  launch({"embedding_gradient", stream, grid_of(n_indices, kThreads), dim3(kThreads)},
         entry_keys_kernel, static_cast<const std::int64_t*>(index.data), pairs.keys, pairs.values,
         n_indices, n_entries);
  sort_pairs(stream, pairs, n_indices,
             static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_entries))));
  const Picks picks = {pairs.keys, pairs.values, n_indices, n_entries, n_columns};
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = vector_width<T>();
    const auto* from = static_cast<const T*>(gradient.data);
    auto* to = static_cast<T*>(out.data);
    if constexpr (sizeof(T) < 8) {  // vectors do not help 8-byte elements
      if (rows_align(n_columns, kWide, sizeof(T), from, to)) {
        return add_picks<kWide>(stream, picks, from, to);
      }
    }
    add_picks<1>(stream, picks, from, to);
  });
}

}  // namespace causeway::kernels::cuda
