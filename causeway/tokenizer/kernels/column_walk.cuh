// How thread blocks traverse the columns of a matrix: a block processes a group of adjacent columns
// and a range of rows, and each thread one column, whose guide is in shared memory. For row-major
// matrices the threads of a group read adjacent elements; groups of the same rows run concurrently,
// so that partial sectors are found in L2.
#pragma once

#include "causeway/tokenizer/kernels/guide.h"
#include "causeway/runtime/launch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cuda {

template <class V>
struct DeviceColumns {
  const V* values;
  const bool* missing;
  std::int64_t row;  // strides, in elements
  std::int64_t column;
  std::int64_t missing_row;
  std::int64_t missing_column;
  std::int64_t n_rows;
  std::int32_t n_columns;

  explicit DeviceColumns(const Columns& columns)
      : values(static_cast<const V*>(columns.values.data)),
        missing(static_cast<const bool*>(columns.missing.data)),
        row(columns.values.strides[0]),
        column(columns.values.strides[1]),
        missing_row(missing == nullptr ? 0 : columns.missing.strides[0]),
        missing_column(missing == nullptr ? 0 : columns.missing.strides[1]),
        n_rows(columns.n_rows()),
        n_columns(static_cast<std::int32_t>(columns.n_columns())) {}
};

struct ChipLimits {
  int multiprocessors = 1;
  int shared_bytes = 48 * 1024;  // per block
};

inline ChipLimits chip_limits(Device device) {
  ChipLimits limits;
  driver::check(
      cudaDeviceGetAttribute(&limits.multiprocessors, cudaDevAttrMultiProcessorCount, device.index),
      "device attributes");
  driver::check(cudaDeviceGetAttribute(&limits.shared_bytes,
                                       cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index),
                "device attributes");
  return limits;
}

// The grid: grid.x groups of columns, grid.y ranges of rows.
struct Walk {
  std::int32_t group = 1;  // columns per block
  std::int32_t threads = 512;
  std::size_t shared_bytes = 0;
  dim3 grid{1, 1, 1};

  // `bytes_per_column` of shared memory, 0 for none; returns false if not even one column fits.
  // `registers` per thread limits the blocks per SM.
  template <class V>
  static bool plan(const DeviceColumns<V>& columns, std::size_t bytes_per_column, Device device,
                   Walk& walk, int registers = 32) {
    const ChipLimits chip = chip_limits(device);
    constexpr std::size_t kMostColumns = 256;
    const std::size_t fitting =
        static_cast<std::size_t>(chip.shared_bytes) / std::max<std::size_t>(bytes_per_column, 1);
    const auto most = static_cast<std::int32_t>(std::min(fitting, kMostColumns));
    if (most < 1) return false;
    const bool by_rows = columns.row > columns.column && columns.n_columns > 1;
    walk.group = by_rows ? std::min(most, columns.n_columns) : 1;
    // Groups of whole sectors, if there are several.
    constexpr std::int32_t kSector = 32 / sizeof(V);
    if (walk.group < columns.n_columns && walk.group > kSector) walk.group -= walk.group % kSector;
    walk.shared_bytes = bytes_per_column * static_cast<std::size_t>(walk.group);
    constexpr std::size_t kPerMultiprocessor = 225 * 1024;
    const auto fit =
        static_cast<int>(kPerMultiprocessor / std::max<std::size_t>(walk.shared_bytes, 1024));
    walk.threads = fit >= 2 ? 512 : 1024;
    const int resident = std::max(1, std::min(fit, 65536 / registers / walk.threads));
    const std::int32_t n_groups = (columns.n_columns + walk.group - 1) / walk.group;
    // One wave of blocks, but ranges long enough to amortise filling the tables.
    constexpr std::int64_t kLeastRows = 2048;
    const std::int64_t wave = std::int64_t{chip.multiprocessors} * resident / n_groups;
    const std::int64_t useful = (columns.n_rows + kLeastRows - 1) / kLeastRows;
    const std::int64_t intervals = std::clamp<std::int64_t>(std::min(wave, useful), 1, 65535);
    walk.grid = dim3(static_cast<unsigned>(n_groups), static_cast<unsigned>(intervals));
    return true;
  }
};

// A thread's position in the traversal.
template <class V>
struct Lane {
  std::int32_t in_group;  // index of its column in the group
  std::int32_t column;
  std::int64_t row;  // its first row
  std::int64_t end;
  std::int64_t step;
  bool idle;

  __device__ __forceinline__ Lane(const DeviceColumns<V>& columns, std::int32_t group) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t rows_at_once = static_cast<std::int32_t>(blockDim.x) / group;
    in_group = thread % group;
    column = static_cast<std::int32_t>(blockIdx.x) * group + in_group;
    row = first_row_of(blockIdx.y, gridDim.y, columns.n_rows) + thread / group;
    end = first_row_of(blockIdx.y + std::int64_t{1}, gridDim.y, columns.n_rows);
    step = rows_at_once;
    idle = thread / group >= rows_at_once || column >= columns.n_columns;
  }
};

// Calls body(value, missing, row) for all of a thread's rows, with kUnroll loads in flight.
template <int kUnroll, class V, class Body>
__device__ __forceinline__ void walk_rows(const DeviceColumns<V>& columns, const Lane<V>& lane,
                                          const Body& body) {
  if (lane.idle) return;
  const V* values = columns.values + lane.column * columns.column;
  const bool* marks =
      columns.missing == nullptr ? nullptr : columns.missing + lane.column * columns.missing_column;
  std::int64_t row = lane.row;
  for (; row + (kUnroll - 1) * lane.step < lane.end; row += kUnroll * lane.step) {
    V value[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) value[i] = values[(row + i * lane.step) * columns.row];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const std::int64_t at = row + i * lane.step;
      const bool marked = marks != nullptr && marks[at * columns.missing_row];
      body(value[i], marked || is_missing(value[i]), at);
    }
  }
  for (; row < lane.end; row += lane.step) {
    const V value = values[row * columns.row];
    const bool marked = marks != nullptr && marks[row * columns.missing_row];
    body(value, marked || is_missing(value), row);
  }
}

// The V before shared-memory address `end` if end <= last; otherwise undefined. A predicated load
// without a branch, which the compiler does not generate from an `if`.
template <class V>
__device__ __forceinline__ V load_before(std::uint32_t end, std::uint32_t last) {
  SortKey<V> bits;
  if constexpr (sizeof(V) == 8) {
    asm("{ .reg .pred p; setp.le.u32 p, %1, %2; @p ld.shared.b64 %0, [%1 + -8]; }"
        : "=l"(bits)
        : "r"(end), "r"(last));
  } else {
    asm("{ .reg .pred p; setp.le.u32 p, %1, %2; @p ld.shared.b32 %0, [%1 + -4]; }"
        : "=r"(bits)
        : "r"(end), "r"(last));
  }
  V value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// A column's guide in shared memory.
template <class V>
struct SharedGuide {
  const std::uint32_t* cells;
  const V* thresholds;
  GuideReal<V> low;
  GuideReal<V> scale;
  bool by_key;
  std::int32_t n_cells;

  __device__ __forceinline__ std::uint32_t locate(V value) const {
    const std::uint32_t cell = cells[guide_cell(value, low, scale, by_key, n_cells)];
    return search_cell(value, cell, thresholds);
  }

  // The bins of several values, in lockstep so that their look-ups overlap. kKeys: the map may use
  // sort keys. Missing values get `missing_place`.
  template <bool kKeys, int kCount>
  __device__ __forceinline__ void locate(const V (&value)[kCount], const bool (&missing)[kCount],
                                         std::uint32_t missing_place,
                                         std::uint32_t (&place)[kCount]) const {
    constexpr auto kSize = static_cast<std::uint32_t>(sizeof(V));
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(thresholds));
    std::uint32_t last[kCount];  // addresses: end of the cell's thresholds, and of those reached
    std::uint32_t fullest = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::uint32_t cell = cells[guide_cell(value[i], low, scale, kKeys && by_key, n_cells)];
      place[i] = base + (cell & 0xffffu) * kSize;
      last[i] = place[i] + (cell >> 16) * kSize;
      fullest |= cell >> 16;
    }
    // Binary search with decreasing powers of two: a step is taken if all thresholds up to its end
    // are reached.
    for (std::uint32_t step = (fullest == 0 ? 0 : kSize << (31 - __clz(fullest))); step >= kSize;
         step >>= 1) {
      V threshold[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) threshold[i] = load_before<V>(place[i] + step, last[i]);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const bool reached = place[i] + step <= last[i] && value[i] >= threshold[i];
        place[i] += reached ? step : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      place[i] = missing[i] ? missing_place : (place[i] - base) / kSize;
    }
  }
};

// Calls body(values, places) for all of a thread's rows, kAtOnce at a time and then one by one;
// missing values get `missing_place`. kPlain: no missing mask, and the map does not use sort keys.
template <int kAtOnce, bool kPlain, class V, class Body>
__device__ __forceinline__ void walk_places(const DeviceColumns<V>& columns, const Lane<V>& lane,
                                            const SharedGuide<V>& guide,
                                            std::uint32_t missing_place, const Body& body) {
  const V* values = columns.values + lane.row * columns.row + lane.column * columns.column;
  const std::int64_t hop = lane.step * columns.row;
  const bool* marks =
      kPlain || columns.missing == nullptr
          ? nullptr
          : columns.missing + lane.row * columns.missing_row + lane.column * columns.missing_column;
  const std::int64_t mark_hop = lane.step * columns.missing_row;
  const auto take = [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    V value[kCount];
    bool missing[kCount];
    std::uint32_t place[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) value[i] = values[i * hop];
    values += kCount * hop;
#pragma unroll
    for (int i = 0; i < kCount; ++i) missing[i] = is_missing(value[i]);
    if (marks != nullptr) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) missing[i] = missing[i] || marks[i * mark_hop];
      marks += kCount * mark_hop;
    }
    guide.template locate<!kPlain>(value, missing, missing_place, place);
    body(value, place);
  };
  // The rows per thread of any matrix that fits in GPU memory fit in 32 bits.
  auto left = static_cast<std::uint32_t>(
      lane.row < lane.end ? (lane.end - lane.row - 1) / lane.step + 1 : 0);
  for (; left >= kAtOnce; left -= kAtOnce) take(std::integral_constant<int, kAtOnce>());
  for (; left > 0; --left) take(std::integral_constant<int, 1>());
}

// Selects the variant for a whole block; all its threads must call it.
template <int kAtOnce, class V, class Body>
__device__ __forceinline__ void walk_block(const DeviceColumns<V>& columns, const Lane<V>& lane,
                                           const SharedGuide<V>& guide, std::uint32_t missing_place,
                                           const Body& body) {
  const bool keys = __syncthreads_or(!lane.idle && guide.by_key) != 0;
  if (lane.idle) return;
  if (keys || columns.missing != nullptr) {
    walk_places<kAtOnce / 2, false>(columns, lane, guide, missing_place, body);
  } else {
    walk_places<kAtOnce, true>(columns, lane, guide, missing_place, body);
  }
}

// Size of a column's guide in shared memory; 8-byte thresholds come first for alignment.
template <class V>
std::size_t shared_guide_bytes(const GuideView<V>& guides) {
  return (sizeof(V) * static_cast<std::size_t>(guides.pitch) +
          sizeof(std::uint32_t) * static_cast<std::size_t>(guides.n_cells) + 7) /
         8 * 8;
}

// Fills the block's guides, `stride` bytes apart, and returns each thread's guide. The caller
// synchronises.
template <class V>
__device__ __forceinline__ SharedGuide<V> load_guides(const GuideView<V>& guides,
                                                      const Lane<V>& lane, std::int32_t group,
                                                      std::int32_t n_columns, std::byte* space,
                                                      std::size_t stride) {
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * group;
  const std::int32_t count = min(group, n_columns - first);
  for (std::int32_t c = 0; c < count; ++c) {
    auto* thresholds = reinterpret_cast<V*>(space + c * stride);
    auto* cells = reinterpret_cast<std::uint32_t*>(thresholds + guides.pitch);
    const V* from = guides.thresholds + std::int64_t{first + c} * guides.pitch;
    const std::uint32_t* from_cells = guides.cells + std::int64_t{first + c} * guides.n_cells;
    const std::int32_t n = guides.columns[first + c].n_thresholds;
    for (std::int32_t i = threadIdx.x; i < n; i += blockDim.x) thresholds[i] = from[i];
    for (std::int32_t i = threadIdx.x; i < guides.n_cells; i += blockDim.x)
      cells[i] = from_cells[i];
  }
  const GuideColumn head = guides.columns[lane.idle ? 0 : lane.column];
  const auto* own = reinterpret_cast<const V*>(space + lane.in_group * stride);
  return {reinterpret_cast<const std::uint32_t*>(own + guides.pitch),
          own,
          static_cast<GuideReal<V>>(head.low),
          static_cast<GuideReal<V>>(head.scale),
          head.by_key != 0,
          guides.n_cells};
}

// The same guide in global memory, for tables that do not fit in shared memory.
template <class V>
__device__ __forceinline__ SharedGuide<V> global_guide(const GuideView<V>& guides,
                                                       std::int32_t column) {
  const GuideColumn head = guides.columns[column];
  return {guides.cells + std::int64_t{column} * guides.n_cells,
          guides.thresholds + std::int64_t{column} * guides.pitch,
          static_cast<GuideReal<V>>(head.low),
          static_cast<GuideReal<V>>(head.scale),
          head.by_key != 0,
          guides.n_cells};
}

}  // namespace causeway::kernels::cuda
