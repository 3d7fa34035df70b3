// Guide construction on the GPU: a sample of every column is gathered and sorted in shared memory
// and split evenly, and the look-up table of the splitters is built. Bytes: one sector per sampled
// value; bound by the latency of the sort.
#include "causeway/tokenizer/kernels/guide.h"

#include "causeway/tokenizer/kernels/column_walk.cuh"
#include "causeway/runtime/pool.h"

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace causeway::kernels::cuda {

namespace {

constexpr int kThreads = 1024;

extern __shared__ __align__(16) std::byte guide_space[];

// Samples of a column are sorted in chunks, one block each, and each chunk's elements are ranked
// among the others: many short sorts in parallel instead of a long one.
constexpr int kChunkThreads = 256;
constexpr int kChunkPerThread = 8;
constexpr std::int64_t kChunk = kChunkThreads * kChunkPerThread;
constexpr int kMostChunks = static_cast<int>(kMostSamples / kChunk);

template <class V>
__global__ void __launch_bounds__(kChunkThreads)
    sample_kernel(DeviceColumns<V> columns, std::int64_t n_samples, SortKey<V>* sorted,
                  std::int32_t* chunk_counts) {
  using Key = SortKey<V>;
  using Sort = cub::BlockRadixSort<Key, kChunkThreads, kChunkPerThread>;
  __shared__ typename Sort::TempStorage space;
  const std::int64_t column = blockIdx.x, chunk = blockIdx.y;
  Key keys[kChunkPerThread];
  int valid = 0;
#pragma unroll
  for (int i = 0; i < kChunkPerThread; ++i) {
    keys[i] = static_cast<Key>(~Key{0});  // sorts after all values
    const std::int64_t at = chunk * kChunk + std::int64_t{i} * kChunkThreads + threadIdx.x;
    if (at >= n_samples) continue;
    const std::int64_t row = sample_row(at, n_samples, columns.n_rows);
    const V value = columns.values[row * columns.row + column * columns.column];
    const bool marked =
        columns.missing != nullptr &&
        columns.missing[row * columns.missing_row + column * columns.missing_column];
    if (marked || is_missing(value)) continue;
    keys[i] = sort_key(value);
    ++valid;
  }
  Sort(space).SortBlockedToStriped(keys);
  Key* out = sorted + (column * gridDim.y + chunk) * kChunk;
#pragma unroll
  for (int i = 0; i < kChunkPerThread; ++i) out[i * kChunkThreads + threadIdx.x] = keys[i];
  __shared__ std::int32_t n_valid;
  if (threadIdx.x == 0) n_valid = 0;
  __syncthreads();
  if (valid > 0) atomicAdd(&n_valid, valid);
  __syncthreads();
  if (threadIdx.x == 0) chunk_counts[column * gridDim.y + chunk] = n_valid;
}

// Number of keys in a sorted chunk that are < `key`, or <= `key`.
template <class Key>
__device__ __forceinline__ std::int32_t keys_before(const Key* chunk, Key key, bool or_equal) {
  std::int32_t before = 0;
#pragma unroll
  for (auto step = static_cast<std::int32_t>(kChunk); step > 0; step >>= 1) {
    if (before + step > kChunk) continue;
    const Key other = chunk[before + step - 1];
    if (other < key || (or_equal && other == key)) before += step;
  }
  return before;
}

// Equal keys are ordered by chunk number, so that places are unique.
template <class V>
__global__ void __launch_bounds__(kChunkThreads)
    merge_kernel(const SortKey<V>* sorted, const std::int32_t* chunk_counts, std::int64_t n_samples,
                 V* samples, std::int32_t* counts) {
  using Key = SortKey<V>;
  auto* keys = reinterpret_cast<Key*>(guide_space);
  const int n_chunks = static_cast<int>(gridDim.y), own = static_cast<int>(blockIdx.y);
  const std::int64_t column = blockIdx.x;
  const Key* from = sorted + column * n_chunks * kChunk;
  for (std::int64_t i = threadIdx.x; i < n_chunks * kChunk; i += kChunkThreads) keys[i] = from[i];
  __syncthreads();
  std::int32_t count = 0;
  for (int chunk = 0; chunk < n_chunks; ++chunk) count += chunk_counts[column * n_chunks + chunk];
#pragma unroll
  for (int i = 0; i < kChunkPerThread; ++i) {
    const std::int32_t at = i * kChunkThreads + static_cast<std::int32_t>(threadIdx.x);
    const Key key = keys[own * kChunk + at];
    std::int32_t place = at;
#pragma unroll
    for (int chunk = 0; chunk < kMostChunks; ++chunk) {
      if (chunk >= n_chunks || chunk == own) continue;
      place += keys_before(keys + chunk * kChunk, key, chunk < own);
    }
    V value;
    value_of_key(key, value);
    if (place < count) samples[column * n_samples + place] = value;
  }
  if (own == 0 && threadIdx.x == 0) counts[column] = count;
}

// Each thread compares adjacent splitters and determines the thresholds they produce, up to two per
// splitter.
template <class V>
__global__ void __launch_bounds__(kThreads)
    split_kernel(const V* samples, std::int64_t n_samples, const std::int32_t* counts,
                 GuideColumn* columns, V* thresholds, std::int32_t pitch) {
  using Scan = cub::BlockScan<std::int32_t, kThreads>;
  __shared__ typename Scan::TempStorage space;
  const std::int64_t column = blockIdx.x;
  const V* own = samples + column * n_samples;
  V* out = thresholds + column * pitch;
  const std::int64_t count = counts[column];
  const std::int64_t n_cuts = min(std::int64_t{pitch - 1}, count);
  const auto cut = [&](std::int64_t i) { return own[(i + 1) * count / (n_cuts + 1)]; };
  std::int32_t written = 0;
  for (std::int64_t base = 0; base < n_cuts; base += kThreads) {
    const std::int64_t i = base + threadIdx.x;
    bool starts = false, repeats = false;
    V value{};
    if (i < n_cuts) {
      value = cut(i);
      const bool first = i == 0 || cut(i - 1) < value;
      const bool follows = i > 1 && cut(i - 2) == cut(i - 1) && next_above(cut(i - 1)) == value;
      starts = first && !follows;
      repeats = first && i + 1 < n_cuts && cut(i + 1) == value && value < next_above(value);
    }
    const std::int32_t n = (starts ? 1 : 0) + (repeats ? 1 : 0);
    std::int32_t before, total;
    Scan(space).ExclusiveSum(n, before, total);
    std::int32_t at = written + before;
    if (starts) out[at++] = value;
    if (repeats) out[at] = next_above(value);
    written += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) columns[column].n_thresholds = written;
}

__device__ bool is_finite(float value) { return value - value == 0.0f; }
__device__ bool is_finite(double value) { return value - value == 0.0; }
__device__ bool is_finite(std::int32_t) { return true; }
__device__ bool is_finite(std::int64_t) { return true; }

// The map from the first finite threshold to the last, as on the CPU.
template <class V>
__device__ bool draw_map(const V* thresholds, std::int32_t first, std::int32_t last, bool by_key,
                         std::int32_t n_cells, GuideColumn& map) {
  using Real = GuideReal<V>;
  if (first > last) return false;
  const Real low = guide_place(thresholds[first], by_key);
  const Real span = guide_place(thresholds[last], by_key) - low;
  const Real scale = static_cast<Real>(n_cells) / span;
  if (!(span > 0) || !is_finite(span) || !is_finite(scale)) return false;
  map.low = static_cast<double>(low);
  map.scale = static_cast<double>(scale);
  map.by_key = by_key ? 1 : 0;
  return true;
}

template <class V>
struct CellCounts {
  std::uint32_t* counts;  // in shared memory
  std::int32_t n_cells;

  __device__ void fill(const V* thresholds, const GuideColumn& map) {
    for (std::int32_t i = threadIdx.x; i < n_cells; i += kThreads) counts[i] = 0;
    __syncthreads();
    const auto low = static_cast<GuideReal<V>>(map.low);
    const auto scale = static_cast<GuideReal<V>>(map.scale);
    for (std::int32_t i = threadIdx.x; i < map.n_thresholds; i += kThreads) {
      atomicAdd(counts + guide_cell(thresholds[i], low, scale, map.by_key != 0, n_cells), 1u);
    }
    __syncthreads();
  }
};

template <class V>
__global__ void __launch_bounds__(kThreads)
    build_kernel(GuideColumn* columns, const V* thresholds, std::int32_t pitch,
                 std::uint32_t* cells, std::int32_t n_cells) {
  using Reduce = cub::BlockReduce<unsigned long long, kThreads>;
  using Scan = cub::BlockScan<std::uint32_t, kThreads>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
  } space;
  __shared__ unsigned long long cost;
  __shared__ std::int32_t first_finite, last_finite, fullest;
  const std::int64_t column = blockIdx.x;
  const V* own = thresholds + column * pitch;
  GuideColumn map = columns[column];
  if (threadIdx.x == 0) {
    first_finite = map.n_thresholds;
    last_finite = -1;
    fullest = 0;
  }
  __syncthreads();
  for (std::int32_t i = threadIdx.x; i < map.n_thresholds; i += kThreads) {
    if (!is_finite(own[i])) continue;
    atomicMin(&first_finite, i);
    atomicMax(&last_finite, i);
  }
  __syncthreads();
  CellCounts<V> cell{reinterpret_cast<std::uint32_t*>(guide_space), n_cells};
  unsigned long long least = ~0ull;
  GuideColumn chosen{0, 0, map.n_thresholds, 0, 0, 0};
  for (int by_key = 0; by_key < 2; ++by_key) {
    GuideColumn candidate{0, 0, map.n_thresholds, 0, 0, 0};
    if (!draw_map(own, first_finite, last_finite, by_key != 0, n_cells, candidate)) continue;
    cell.fill(own, candidate);
    unsigned long long sum = 0;
    for (std::int32_t i = threadIdx.x; i < n_cells; i += kThreads) {
      sum += static_cast<unsigned long long>(cell.counts[i]) * cell.counts[i];
    }
    sum = Reduce(space.reduce).Sum(sum);
    if (threadIdx.x == 0) cost = sum;
    __syncthreads();
    if (cost < least) {
      least = cost;
      chosen = candidate;
    }
    __syncthreads();
  }
  cell.fill(own, chosen);
  std::uint32_t before = 0;
  for (std::int32_t base = 0; base < n_cells; base += kThreads) {
    const std::int32_t i = base + static_cast<std::int32_t>(threadIdx.x);
    const std::uint32_t count = i < n_cells ? cell.counts[i] : 0;
    std::uint32_t first, total;
    Scan(space.scan).ExclusiveSum(count, first, total);
    if (i < n_cells) cells[column * n_cells + i] = pack_cell(before + first, count);
    if (count > 0) atomicMax(&fullest, static_cast<std::int32_t>(count));
    before += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    chosen.n_steps = 32 - __clz(fullest);
    columns[column] = chosen;
  }
}

}  // namespace

void sample_columns(StreamView stream, const Columns& columns, const Operand& samples,
                    const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    using Key = SortKey<V>;
    const auto n_columns = static_cast<std::size_t>(columns.n_columns());
    const auto n_chunks = static_cast<std::size_t>((samples.shape[1] + kChunk - 1) / kChunk);
    Pool& pool = pool_of(stream.device());
    const Buffer sorted = pool.allocate(n_columns * n_chunks * kChunk * sizeof(Key), stream);
    const Buffer found = pool.allocate(n_columns * n_chunks * sizeof(std::int32_t), stream);
    auto* keys = reinterpret_cast<Key*>(sorted.data());
    auto* chunk_counts = reinterpret_cast<std::int32_t*>(found.data());
    const dim3 grid(static_cast<unsigned>(n_columns), static_cast<unsigned>(n_chunks));
    launch({"sample_columns", stream, grid, dim3(kChunkThreads)}, sample_kernel<V>,
           DeviceColumns<V>(columns), samples.shape[1], keys, chunk_counts);
    launch({"sample_columns", stream, grid, dim3(kChunkThreads), n_chunks * kChunk * sizeof(Key)},
           merge_kernel<V>, keys, chunk_counts, samples.shape[1], static_cast<V*>(samples.data),
           static_cast<std::int32_t*>(counts.data));
  });
}

void split_samples(StreamView stream, const Operand& samples, const Operand& counts,
                   const Guides& guides) {
  dispatch_column_type(samples.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch(
        {"split_samples", stream, dim3(static_cast<unsigned>(guides.n_columns())), dim3(kThreads)},
        split_kernel<V>, static_cast<const V*>(samples.data), samples.shape[1],
        static_cast<const std::int32_t*>(counts.data),
        static_cast<GuideColumn*>(guides.columns.data), static_cast<V*>(guides.thresholds.data),
        guides.pitch());
  });
}

void build_guides(StreamView stream, const Guides& guides) {
  dispatch_column_type(guides.thresholds.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch({"build_guides", stream, dim3(static_cast<unsigned>(guides.n_columns())), dim3(kThreads),
            sizeof(std::uint32_t) * static_cast<std::size_t>(guides.n_cells())},
           build_kernel<V>, static_cast<GuideColumn*>(guides.columns.data),
           static_cast<const V*>(guides.thresholds.data), guides.pitch(),
           static_cast<std::uint32_t*>(guides.cells.data), guides.n_cells());
  });
}

}  // namespace causeway::kernels::cuda
