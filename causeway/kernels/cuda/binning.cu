// Counting, gathering and selecting on the GPU. Bytes: the matrix once for each of the first two, a
// few per cent of it again for the third; bound by look-ups in shared memory, of which a value
// takes a cell, a threshold or two, and a counter.
#include "causeway/kernels/binning.h"

#include "causeway/core/error.h"
#include "causeway/kernels/cuda/column_walk.cuh"
#include "causeway/runtime/pool.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace causeway::kernels::cuda {

namespace {

using Counter = unsigned long long;

extern __shared__ __align__(16) std::byte shared_space[];

// Counts of neighbouring equal places are gathered in registers first: on a column of few values
// the shared counter would be one address for all.
template <class V>
__global__ void __launch_bounds__(1024)
    count_kernel(DeviceColumns<V> columns, GuideView<V> guides, std::int32_t group,
                 std::size_t stride, std::size_t guide_bytes, Counter* counts) {
  const Lane<V> lane(columns, group);
  const SharedGuide<V> guide =
      load_guides(guides, lane, group, columns.n_columns, shared_space, stride);
  const std::int32_t n_counters = guides.pitch + 1;
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * group;
  const std::int32_t n_own = min(group, columns.n_columns - first);
  const auto counters_of = [&](std::int32_t c) {
    return reinterpret_cast<std::uint32_t*>(shared_space + c * stride + guide_bytes);
  };
  for (std::int32_t c = 0; c < n_own; ++c) {
    for (std::int32_t i = threadIdx.x; i < n_counters; i += blockDim.x) counters_of(c)[i] = 0;
  }
  __syncthreads();
  std::uint32_t* counters = counters_of(lane.in_group);
  const auto missing_place = static_cast<std::uint32_t>(guides.pitch);
  std::uint32_t last = 0, run = 0;
  walk_rows<8>(columns, lane, [&](V value, bool missing, std::int64_t) {
    const std::uint32_t place = missing ? missing_place : guide.locate(value);
    if (place == last) {
      ++run;
    } else {
      if (run > 0) atomicAdd(counters + last, run);
      last = place;
      run = 1;
    }
  });
  if (run > 0) atomicAdd(counters + last, run);
  __syncthreads();
  for (std::int32_t c = 0; c < n_own; ++c) {
    Counter* out = counts + std::int64_t{first + c} * n_counters;
    for (std::int32_t i = threadIdx.x; i < n_counters; i += blockDim.x) {
      const std::uint32_t count = counters_of(c)[i];
      if (count > 0) atomicAdd(out + i, static_cast<Counter>(count));
    }
  }
}

// The same with tables and counters in global memory.
template <class V>
__global__ void __launch_bounds__(1024)
    count_global_kernel(DeviceColumns<V> columns, GuideView<V> guides, std::int32_t group,
                        Counter* counts) {
  const Lane<V> lane(columns, group);
  if (lane.idle) return;
  const SharedGuide<V> guide = global_guide(guides, lane.column);
  Counter* out = counts + std::int64_t{lane.column} * (guides.pitch + 1);
  walk_rows<4>(columns, lane, [&](V value, bool missing, std::int64_t) {
    atomicAdd(out + (missing ? static_cast<std::uint32_t>(guides.pitch) : guide.locate(value)),
              Counter{1});
  });
}

// A value of a chosen bin takes the next place of its segment: cursors are many, and few values are
// chosen, so that they seldom meet.
template <class V>
__global__ void __launch_bounds__(1024)
    gather_kernel(DeviceColumns<V> columns, GuideView<V> guides, std::int32_t group,
                  std::size_t stride, std::size_t guide_bytes, const std::int32_t* segments,
                  Counter* cursors, V* gathered) {
  const Lane<V> lane(columns, group);
  const SharedGuide<V> guide =
      load_guides(guides, lane, group, columns.n_columns, shared_space, stride);
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * group;
  const std::int32_t n_own = min(group, columns.n_columns - first);
  const auto chosen_of = [&](std::int32_t c) {
    return reinterpret_cast<std::int32_t*>(shared_space + c * stride + guide_bytes);
  };
  for (std::int32_t c = 0; c < n_own; ++c) {
    const std::int32_t* from = segments + std::int64_t{first + c} * guides.pitch;
    for (std::int32_t i = threadIdx.x; i < guides.pitch; i += blockDim.x) chosen_of(c)[i] = from[i];
  }
  __syncthreads();
  const std::int32_t* chosen = chosen_of(lane.in_group);
  walk_rows<8>(columns, lane, [&](V value, bool missing, std::int64_t) {
    if (missing) return;
    const std::int32_t segment = chosen[guide.locate(value)];
    if (segment >= 0) gathered[atomicAdd(cursors + segment, Counter{1})] = value;
  });
}

template <class V>
Walk plan_walk(const DeviceColumns<V>& columns, std::size_t bytes, Device device) {
  Walk walk;
  if (!Walk::plan(columns, bytes, device, walk)) {
    fail(ErrorKind::invalid_argument, "tokenizer",
         "the column's thresholds do not fit this GPU's shared memory; use fewer bins");
  }
  return walk;
}

constexpr int kSelectThreads = 256;
constexpr int kDigitBits = 8;  // as many digits as threads
constexpr int kKeptKeys = 4096;

// Radix selection in one stretch of keys, held on chip where they fit.
template <class V>
class Selection {
 public:
  using Key = SortKey<V>;
  struct Space {
    union {
      typename cub::BlockReduce<Key, kSelectThreads>::TempStorage reduce;
      typename cub::BlockScan<std::uint32_t, kSelectThreads>::TempStorage scan;
    };
    std::uint32_t histogram[1 << kDigitBits];
    Key keys[kKeptKeys];
    Key low, high;
    std::int64_t rank;
    std::uint32_t digit;
  };

  __device__ Selection(Space& space, const V* values, std::int64_t count)
      : space_(space), values_(values), count_(count), kept_(count <= kKeptKeys) {
    Key low = static_cast<Key>(~Key{0}), high = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += kSelectThreads) {
      const Key key = sort_key(values[i]);
      if (kept_) space.keys[i] = key;
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
    low = cub::BlockReduce<Key, kSelectThreads>(space.reduce).Reduce(low, Less());
    __syncthreads();
    high = cub::BlockReduce<Key, kSelectThreads>(space.reduce).Reduce(high, Greater());
    if (threadIdx.x == 0) {
      space.low = low;
      space.high = high;
    }
    __syncthreads();
  }

  // The rank-th smallest. All threads call it, and all get the answer.
  __device__ V find(std::int64_t rank) {
    int left = bits_of(static_cast<Key>(space_.low ^ space_.high));
    Key prefix = left >= static_cast<int>(8 * sizeof(Key)) ? Key{0} : space_.high >> left;
    while (left > 0) {
      const int width = left < kDigitBits ? left : kDigitBits;
      const int shift = left - width;
      count_digits(prefix, left, shift, width);
      pick_digit(rank);
      prefix = static_cast<Key>((prefix << width) | space_.digit);
      rank = space_.rank;
      left = shift;
      __syncthreads();
    }
    V value;
    value_of_key(prefix, value);
    return value;
  }

 private:
  struct Less {
    __device__ Key operator()(Key a, Key b) const { return a < b ? a : b; }
  };
  struct Greater {
    __device__ Key operator()(Key a, Key b) const { return a > b ? a : b; }
  };
  static __device__ int bits_of(std::uint32_t key) { return 32 - __clz(static_cast<int>(key)); }
  static __device__ int bits_of(std::uint64_t key) {
    return 64 - __clzll(static_cast<long long>(key));
  }

  __device__ void count_digits(Key prefix, int left, int shift, int width) {
    space_.histogram[threadIdx.x] = 0;
    __syncthreads();
    const bool all = left >= static_cast<int>(8 * sizeof(Key));
    for (std::int64_t i = threadIdx.x; i < count_; i += kSelectThreads) {
      const Key key = kept_ ? space_.keys[i] : sort_key(values_[i]);
      if (all || (key >> left) == prefix) {
        atomicAdd(space_.histogram + ((key >> shift) & ((Key{1} << width) - 1)), 1u);
      }
    }
    __syncthreads();
  }

  // The digit whose keys hold the rank, and the rank among them.
  __device__ void pick_digit(std::int64_t rank) {
    const std::uint32_t own = space_.histogram[threadIdx.x];
    std::uint32_t before;
    cub::BlockScan<std::uint32_t, kSelectThreads>(space_.scan).ExclusiveSum(own, before);
    if (rank >= before && rank < std::int64_t{before} + own) {
      space_.digit = threadIdx.x;
      space_.rank = rank - before;
    }
    __syncthreads();
  }

  Space& space_;
  const V* values_;
  std::int64_t count_;
  bool kept_;
};

// One block for a run of queries of one stretch: the run's first.
template <class V>
__global__ void __launch_bounds__(kSelectThreads)
    select_kernel(const V* gathered, const RankQuery* queries, std::int64_t n_queries, V* answers) {
  __shared__ typename Selection<V>::Space space;
  std::int64_t at = blockIdx.x;
  const RankQuery query = queries[at];
  if (at > 0 && queries[at - 1].begin == query.begin) return;
  Selection<V> selection(space, gathered + query.begin, query.end - query.begin);
  for (; at < n_queries && queries[at].begin == query.begin; ++at) {
    const V answer = selection.find(queries[at].rank);
    if (threadIdx.x == 0) answers[at] = answer;
  }
}

}  // namespace

void count_bins(StreamView stream, const Columns& columns, const Guides& guides,
                const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const DeviceColumns<V> matrix(columns);
    const GuideView<V> view(guides);
    const std::size_t guide_bytes = shared_guide_bytes(view);
    const std::size_t stride =
        (guide_bytes + sizeof(std::uint32_t) * static_cast<std::size_t>(view.pitch + 1) + 15) / 16 *
        16;
    Walk walk;
    if (!Walk::plan(matrix, stride, stream.device(), walk)) {
      walk = plan_walk(matrix, 0, stream.device());
      launch({"count_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads))},
             count_global_kernel<V>, matrix, view, walk.group, static_cast<Counter*>(counts.data));
      return;
    }
    launch({"count_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
            walk.shared_bytes},
           count_kernel<V>, matrix, view, walk.group, stride, guide_bytes,
           static_cast<Counter*>(counts.data));
  });
}

void gather_bins(StreamView stream, const Columns& columns, const Guides& guides,
                 const Operand& segments, const Operand& cursors, const Operand& gathered) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const DeviceColumns<V> matrix(columns);
    const GuideView<V> view(guides);
    const std::size_t guide_bytes = shared_guide_bytes(view);
    const std::size_t stride =
        (guide_bytes + sizeof(std::int32_t) * static_cast<std::size_t>(view.pitch) + 15) / 16 * 16;
    const Walk walk = plan_walk(matrix, stride, stream.device());
    launch({"gather_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
            walk.shared_bytes},
           gather_kernel<V>, matrix, view, walk.group, stride, guide_bytes,
           static_cast<const std::int32_t*>(segments.data), static_cast<Counter*>(cursors.data),
           static_cast<V*>(gathered.data));
  });
}

void select_ranks(StreamView stream, const Operand& gathered, const Operand& queries,
                  const Operand& answers) {
  const std::int64_t n_queries = answers.shape[0];
  if (n_queries == 0) return;
  dispatch_column_type(gathered.dtype, [&](auto tag) {
    using V = decltype(tag);
    launch({"select_ranks", stream, dim3(static_cast<unsigned>(n_queries)), dim3(kSelectThreads)},
           select_kernel<V>, static_cast<const V*>(gathered.data),
           static_cast<const RankQuery*>(queries.data), n_queries, static_cast<V*>(answers.data));
  });
}

}  // namespace causeway::kernels::cuda
