// Counting and gathering on the GPU. Bytes: the matrix once for each, and the gathered values.
// Bound by shared-memory look-ups: per value a cell, one or two thresholds, and a counter.
#include "causeway/tokenizer/kernels/binning.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/kernels/column_walk.cuh"
#include "causeway/tokenizer/kernels/rank_plan_device.h"

namespace causeway::kernels::cuda {

namespace {

using Counter = unsigned long long;

// Values per thread whose look-ups overlap, and the register limit this allows: three blocks of 512
// threads per SM, two for wide types.
template <class V>
constexpr int kCountedAtOnce = 4;
constexpr int kGatheredAtOnce = 4;
template <class V>
constexpr int kRegisters = sizeof(V) == 8 ? 64 : 40;

extern __shared__ __align__(16) std::byte shared_space[];

// A block's tables in shared memory: a guide for each of its columns, followed by one counter and
// one bit per bin.
struct Tables {
  std::int32_t group;
  std::size_t stride;
  std::size_t guide_bytes;

  template <class V>
  explicit Tables(const GuideView<V>& guides) : group(1), guide_bytes(shared_guide_bytes(guides)) {
    const auto n_bins = static_cast<std::size_t>(guides.pitch + 1);
    const std::size_t numbers = n_bins + (n_bins + 31) / 32;
    stride = (guide_bytes + sizeof(std::uint32_t) * numbers + 15) / 16 * 16;
  }

  __device__ std::uint32_t* numbers(std::int32_t in_group) const {
    return reinterpret_cast<std::uint32_t*>(shared_space + in_group * stride + guide_bytes);
  }
  // Calls body(index, column, bin) for the first n entries of all columns of the block.
  template <class Body>
  __device__ void for_numbers(std::int32_t n_columns, std::int32_t n, const Body& body) const {
    const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * group;
    const std::int32_t n_own = min(group, n_columns - first);
    for (std::int32_t c = 0; c < n_own; ++c) {
      for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x) {
        body(numbers(c)[i], std::int64_t{first + c}, i);
      }
    }
  }
};

// Counts in shared memory, then adds to `counts` or, if `parts` is given, stores the part's counts.
// The hardware aggregates lanes that hit the same counter.
template <class V>
__global__ void __maxnreg__(kRegisters<V>)
    count_kernel(DeviceColumns<V> columns, GuideView<V> guides, Tables tables, Counter* counts,
                 std::uint32_t* parts) {
  const Lane<V> lane(columns, tables.group);
  const SharedGuide<V> guide =
      load_guides(guides, lane, tables.group, columns.n_columns, shared_space, tables.stride);
  const std::int32_t n_bins = guides.pitch + 1;
  tables.for_numbers(columns.n_columns, n_bins,
                     [](std::uint32_t& number, std::int64_t, std::int32_t) { number = 0; });
  std::uint32_t* counters = tables.numbers(lane.in_group);
  const auto count = [&](const auto&, const auto& place) {
#pragma unroll
    for (const std::uint32_t at : place) atomicAdd(counters + at, 1u);
  };
  walk_block<kCountedAtOnce<V>>(columns, lane, guide, static_cast<std::uint32_t>(guides.pitch),
                                count);
  __syncthreads();
  const auto add = [&](std::uint32_t number, std::int64_t column, std::int32_t bin) {
    if (number > 0) atomicAdd(counts + column * n_bins + bin, static_cast<Counter>(number));
  };
  const auto set = [&](std::uint32_t number, std::int64_t column, std::int32_t bin) {
    parts[(blockIdx.y * std::int64_t{columns.n_columns} + column) * n_bins + bin] = number;
  };
  if (parts == nullptr) {
    tables.for_numbers(columns.n_columns, n_bins, add);
  } else {
    tables.for_numbers(columns.n_columns, n_bins, set);
  }
}

// Variant with tables and counters in global memory.
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

// Replaces each part's counts by the counts of all parts before it, and computes the total.
__global__ void stack_kernel(std::uint32_t* parts, std::int64_t n_parts, std::int64_t n_counters,
                             std::int64_t* counts) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= n_counters) return;
  std::int64_t sum = 0;
  constexpr int kLoads = 8;
  for (std::int64_t part = 0; part < n_parts; part += kLoads) {
    std::uint32_t own[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      own[i] = part + i < n_parts ? parts[(part + i) * n_counters + at] : 0;
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (part + i < n_parts) parts[(part + i) * n_counters + at] = static_cast<std::uint32_t>(sum);
      sum += own[i];
    }
  }
  counts[at] = sum;
}

// The counts tell every block where its values of a bin go, so it allocates places with its own
// counters in shared memory. Chosen bins are marked in a bit mask, which is read-only and whose
// words are shared by the lanes of a warp.
template <class V>
__global__ void __maxnreg__(kRegisters<V>)
    gather_kernel(DeviceColumns<V> columns, GuideView<V> guides, Tables tables,
                  const std::uint32_t* starts, const std::uint32_t* before,
                  const PlannedColumn* planned, V* gathered) {
  const Lane<V> lane(columns, tables.group);
  const SharedGuide<V> guide =
      load_guides(guides, lane, tables.group, columns.n_columns, shared_space, tables.stride);
  const std::int32_t n_bins = guides.pitch + 1;
  const std::uint32_t* own = before + blockIdx.y * std::int64_t{columns.n_columns} * n_bins;
  const std::int32_t n_words = (n_bins + 31) / 32;
  tables.for_numbers(
      columns.n_columns, n_words,
      [&](std::uint32_t& number, std::int64_t, std::int32_t) { (&number)[n_bins] = 0; });
  __syncthreads();
  tables.for_numbers(columns.n_columns, n_bins,
                     [&](std::uint32_t& number, std::int64_t column, std::int32_t bin) {
                       const std::uint32_t start = starts[column * n_bins + bin];
                       if (start == kNotGathered) return;
                       number = start + own[column * n_bins + bin];
                       std::uint32_t* bits = &number - bin + n_bins;
                       atomicOr(bits + bin / 32, 1u << (bin % 32));
                     });
  std::uint32_t* next = tables.numbers(lane.in_group);
  const std::uint32_t* bits = next + n_bins;
  V* to = gathered + planned[lane.idle ? 0 : lane.column].first;
  const auto write = [&](const auto& value, auto& place) {
    constexpr int kCount = std::extent_v<std::remove_reference_t<decltype(place)>>;
    bool chosen[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) chosen[i] = (bits[place[i] / 32] >> (place[i] % 32) & 1) != 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (chosen[i]) place[i] = atomicAdd(next + place[i], 1u);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (chosen[i]) to[place[i]] = value[i];
    }
  };
  walk_block<kGatheredAtOnce>(columns, lane, guide, static_cast<std::uint32_t>(guides.pitch),
                              write);
}

template <class V>
Walk plan_walk(const DeviceColumns<V>& columns, std::size_t bytes, Device device) {
  Walk walk;
  if (!Walk::plan(columns, bytes, device, walk, kRegisters<V>)) {
    fail(ErrorKind::invalid_argument, "tokenizer",
         "the column's thresholds do not fit this GPU's shared memory; use fewer bins");
  }
  return walk;
}

}  // namespace

void count_bins(StreamView stream, const Columns& columns, const Guides& guides,
                const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const DeviceColumns<V> matrix(columns);
    const GuideView<V> view(guides);
    Tables tables(view);
    Walk walk;
    if (!Walk::plan(matrix, tables.stride, stream.device(), walk, kRegisters<V>)) {
      walk = plan_walk(matrix, 0, stream.device());
      launch({"count_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads))},
             count_global_kernel<V>, matrix, view, walk.group, static_cast<Counter*>(counts.data));
      return;
    }
    tables.group = walk.group;
    launch({"count_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
            walk.shared_bytes},
           count_kernel<V>, matrix, view, tables, static_cast<Counter*>(counts.data), nullptr);
  });
}

void cut_rows(StreamView stream, const Columns& columns, const Guides& guides,
              std::int64_t& n_parts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const Tables tables{GuideView<V>(guides)};
    n_parts = plan_walk(DeviceColumns<V>(columns), tables.stride, stream.device()).grid.y;
  });
}

void count_parts(StreamView stream, const Columns& columns, const Guides& guides,
                 const Operand& counts, const Operand& before) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const DeviceColumns<V> matrix(columns);
    const GuideView<V> view(guides);
    Tables tables(view);
    Walk walk = plan_walk(matrix, tables.stride, stream.device());
    walk.grid.y = static_cast<unsigned>(before.shape[0]);
    tables.group = walk.group;
    auto* parts = static_cast<std::uint32_t*>(before.data);
    launch({"count_parts", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
            walk.shared_bytes},
           count_kernel<V>, matrix, view, tables, nullptr, parts);
    constexpr int kThreads = 256;
    const std::int64_t n_counters = columns.n_columns() * (view.pitch + 1);
    launch({"count_parts", stream,
            dim3(static_cast<unsigned>((n_counters + kThreads - 1) / kThreads)), dim3(kThreads)},
           stack_kernel, parts, before.shape[0], n_counters,
           static_cast<std::int64_t*>(counts.data));
  });
}

void gather_bins(StreamView stream, const Columns& columns, const Guides& guides,
                 const Operand& starts, const Operand& before, const Operand& planned,
                 const Operand& gathered) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const DeviceColumns<V> matrix(columns);
    const GuideView<V> view(guides);
    Tables tables(view);
    Walk walk = plan_walk(matrix, tables.stride, stream.device());
    walk.grid.y = static_cast<unsigned>(before.shape[0]);
    tables.group = walk.group;
    launch({"gather_bins", stream, walk.grid, dim3(static_cast<unsigned>(walk.threads)),
            walk.shared_bytes},
           gather_kernel<V>, matrix, view, tables, static_cast<const std::uint32_t*>(starts.data),
           static_cast<const std::uint32_t*>(before.data),
           static_cast<const PlannedColumn*>(planned.data), static_cast<V*>(gathered.data));
  });
}

}  // namespace causeway::kernels::cuda
