// Attention for sequences of up to 64 rows: a warp, or two for more than 32 rows, copies a sequence
// to shared memory and computes with tiles of eight rows, as many as the sequence has. Results are
// computed transposed (features by rows), so that their rows are padded to eight, not sixteen. Rows
// are aligned to 16 bytes.
#pragma once

#include "causeway/kernels/attention/tiles.cuh"

#include <algorithm>

namespace causeway::kernels::cuda {

template <int kFeatures, int kRowTiles, int kSharing = (kRowTiles > 4 ? 2 : 1),
          int kTogether = (kSharing == 1 ? 4 : 1)>
struct SmallPlan {
  static constexpr int kHead = kFeatures;       // padded to 32 or 64
  static constexpr int kTiles = kRowTiles;      // of eight rows, on either side
  static constexpr int kWarps = kSharing;       // per sequence
  static constexpr int kSequences = kTogether;  // per block; they are independent
  static_assert(kWarps == 1 || kSequences == 1);
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlock = kThreads * kSequences;
  static constexpr int kRows = 8 * kTiles;
  static constexpr int kStride = kTileStride<kHead>;
  static constexpr int kTile = kRows * kStride;  // elements
  // Sixteen queries at a time, which a warp takes every kWarps-th of.
  static constexpr int kTurns = ((kTiles + 1) / 2 + kWarps - 1) / kWarps;
  static constexpr int kSteps = (kTiles + 1) / 2;      // of sixteen rows
  static constexpr int kWords = (kTiles + 3) / 4 * 4;  // from loads of four tiles
};

// The sequence of this thread.
template <class Plan>
struct SmallPlace {
  std::int64_t entry;
  int head;
  int thread;  // of those that share the sequence
  int slot;    // of the block's sequences
  bool exists;

  __device__ __forceinline__ explicit SmallPlace(const AttentionShape& shape) {
    thread = static_cast<int>(threadIdx.x) % Plan::kThreads;
    slot = static_cast<int>(threadIdx.x) / Plan::kThreads;
    const unsigned sequence = blockIdx.x * Plan::kSequences + static_cast<unsigned>(slot);
    exists = sequence < static_cast<unsigned>(shape.n_sequences);
    entry = sequence / static_cast<unsigned>(shape.n_heads);
    head = static_cast<int>(sequence % static_cast<unsigned>(shape.n_heads));
  }
  __device__ __forceinline__ int warp() const { return thread / 32; }
  // Waits for the other threads of the sequence.
  __device__ __forceinline__ void synchronize() const {
    if constexpr (Plan::kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

template <class Plan>
unsigned small_blocks(const AttentionShape& shape) {
  return static_cast<unsigned>((shape.n_sequences + Plan::kSequences - 1) / Plan::kSequences);
}

// Starts copying the rows of a sequence; rows from n_rows and columns from head_size on are zeros.
template <class Plan, class T>
__device__ __forceinline__ void copy_sequence(T* tile, const HeadRows<const T>& rows, int n_rows,
                                              const AttentionShape& shape, int thread) {
  constexpr int kParts = Plan::kHead / 8;
  constexpr int kStep = Plan::kThreads / kParts;  // rows at a time
  const int row = thread / kParts;
  const int column = thread % kParts * 8;
  const T* from = rows[row] + column;
  T* to = tile + row * Plan::kStride + column;
#pragma unroll
  for (int first = 0; first < Plan::kRows; first += kStep) {
    if (Plan::kRows % kStep != 0 && row + first >= Plan::kRows) break;
    const bool there = row + first < n_rows && column < shape.head_size;
    copy_async(to + first * Plan::kStride, there ? from : rows.data, there);
    from += kStep * rows.stride;
  }
}

// Sixteen rows from `first` on as A, by steps of sixteen columns. Rows beyond the last repeat it.
template <int kStride, int kRows, class T, int kSteps>
__device__ __forceinline__ void load_rows(std::uint32_t (&a)[kSteps][4], const T* tile, int first) {
  const int lane = threadIdx.x % 32;
  const T* from = tile + min(first + lane % 16, kRows - 1) * kStride + lane / 16 * 8;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) load_matrices(a[step], from + 16 * step);
}

// Sixteen columns from `column` on, transposed, as A, by steps of sixteen rows.
template <int kStride, int kRows, class T, int kSteps>
__device__ __forceinline__ void load_columns(std::uint32_t (&a)[kSteps][4], const T* tile,
                                             int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int row = min(16 * step + lane % 8 + lane / 16 * 8, kRows - 1);
    load_transposed(a[step], tile + row * kStride + column + lane / 8 % 2 * 8);
  }
}

// Eight rows from `row` on as B: words[i] has columns 8i + 2t and 8i + 2t + 1 of row g. Reads whole
// groups of 32 columns.
template <int kStride, class T, int kWords>
__device__ __forceinline__ void load_eight_rows(std::uint32_t (&words)[kWords], const T* tile,
                                                int row) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kWords; i += 4) {
    std::uint32_t part[4];
    load_matrices(part, tile + (row + lane % 8) * kStride + 8 * i + lane / 8 * 8);
#pragma unroll
    for (int j = 0; j < 4; ++j) words[i + j] = part[j];
  }
}

// Eight columns from `column` on as B: words[i] has rows 8i + 2t and 8i + 2t + 1 of column g.
template <int kStride, int kRows, class T, int kWords>
__device__ __forceinline__ void load_eight_columns(std::uint32_t (&words)[kWords], const T* tile,
                                                   int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kWords; i += 4) {
    std::uint32_t part[4];
    load_transposed(part, tile + min(8 * i + lane, kRows - 1) * kStride + column);
#pragma unroll
    for (int j = 0; j < 4; ++j) words[i + j] = part[j];
  }
}

// sum += a b for one step of a sum over 8 * kWide columns of A; the last may have eight.
template <class T, int kWide, int kWords>
__device__ __forceinline__ void multiply_step(float (&sum)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[kWords], int step) {
  if (2 * step + 1 < kWide) {
    multiply<T>(sum, a, b[2 * step], b[2 * step + 1]);
  } else {
    multiply_eight<T>(sum, a, b[2 * step]);
  }
}

// Dot products of sixteen rows from `first` on with all rows of the other tile: products[i] has
// those of its rows 8i + 2t and 8i + 2t + 1, for rows g and g + 8.
template <class T, class Plan>
__device__ __forceinline__ void row_products(float (&products)[Plan::kTiles][4], const T* rows,
                                             int first, const T* others) {
#pragma unroll
  for (int i = 0; i < 4 * Plan::kTiles; ++i) products[i / 4][i % 4] = 0;
  std::uint32_t a[Plan::kHead / 16][4];
  load_rows<Plan::kStride, Plan::kRows>(a, rows, first);
#pragma unroll
  for (int column = 0; column < Plan::kHead; column += 32) {
    std::uint32_t b[Plan::kTiles][4];
#pragma unroll
    for (int tile = 0; tile < Plan::kTiles; ++tile) {
      load_eight_rows<Plan::kStride>(b[tile], others + column, 8 * tile);
    }
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int tile = 0; tile < Plan::kTiles; ++tile) {
        multiply_step<T, 4>(products[tile], a[column / 16 + step], b[tile], step);
      }
    }
  }
}

// The number of keys that a query sees, without branches.
struct SmallKeys {
  int limit;
  int ahead;

  __device__ __forceinline__ SmallKeys(const AttentionShape& shape, std::int64_t entry)
      : limit(shape.limit(entry)),
        ahead(shape.causal ? shape.n_keys - shape.n_queries + 1 : shape.n_keys) {}
  __device__ __forceinline__ int seen(int query) const { return min(limit, query + ahead); }
};

// Writes sums of features (rows g and g + 8) and rows (columns 2t and 2t + 1) to eight rows and
// sixteen columns of a tile.
template <class T, int kStride>
__device__ __forceinline__ void stage_sums(T* tile, int row, int column, const float (&sum)[4],
                                           float factor) {
  const int lane = threadIdx.x % 32;
  store_two_transposed(tile + (row + lane % 8) * kStride + column + lane / 8 % 2 * 8,
                       pack<T>(sum[0] * factor, sum[1] * factor),
                       pack<T>(sum[2] * factor, sum[3] * factor));
}

// A warp writes kRows rows from `first` on and kColumns columns from `left` on.
template <int kRows, int kColumns, int kStride, class T>
__device__ __forceinline__ void store_block(const HeadRows<T>& rows, const T* tile, int first,
                                            int left, int n_rows, const AttentionShape& shape) {
  constexpr int kParts = kColumns / 8;
  constexpr int kStep = 32 / kParts;
  const int lane = threadIdx.x % 32;
  const int row = first + lane / kParts;
  const int column = left + lane % kParts * 8;
  if (column >= shape.head_size) return;
  const T* from = tile + row * kStride + column;
  T* to = rows[row] + column;
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    if (row + i < n_rows) store_vector(to, load_vector<8>(from + i * kStride));
    to += kStep * rows.stride;
  }
}

// Calls body with the plan, for the numbers of features and of tiles of eight rows.
template <class Body>
void dispatch_small(const AttentionShape& shape, const Body& body) {
  const int n_tiles = (std::max(shape.n_queries, shape.n_keys) + 7) / 8;
  const auto by_tiles = [&](auto head) {
    switch (n_tiles) {
      case 0:
      case 1: return body(SmallPlan<head(), 1>());
      case 2: return body(SmallPlan<head(), 2>());
      case 3: return body(SmallPlan<head(), 3>());
      case 4: return body(SmallPlan<head(), 4>());
      case 5: return body(SmallPlan<head(), 5>());
      case 6: return body(SmallPlan<head(), 6>());
      case 7: return body(SmallPlan<head(), 7>());
      default: return body(SmallPlan<head(), 8>());
    }
  };
  if (shape.head_size <= 32) return by_tiles(std::integral_constant<int, 32>());
  by_tiles(std::integral_constant<int, 64>());
}

}  // namespace causeway::kernels::cuda
