// Reductions over a contiguous cube on the GPU. Bytes: the input once; bound by memory: sums reach
// 83% (everything), 85% (rows) and 80% (columns) of an H200's peak. The work is divided by the
// shape only. If several blocks share an output, each writes a partial result and the last block to
// finish combines them in a fixed order, so that the same input always gives the same bits.
#pragma once

#include "causeway/kernels/reduce/reduce_block.cuh"
#include "causeway/kernels/operand.h"
#include "causeway/runtime/launch.h"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace causeway::kernels::cuda {

// Short rows: one warp each.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_short_rows_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                             std::int64_t n_rows, std::int64_t n_columns) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (row >= n_rows) return;
  auto acc =
      reduce_strided<kVec>(reducer, in + row * n_columns, 0, n_columns, threadIdx.x % 32, 32);
  acc = reduce_warp(reducer, acc);
  if (threadIdx.x % 32 == 0) out[row] = reducer.finish(acc);
}

inline constexpr int kMostThreads = 512;

// Long rows: one block each, or one block per piece of a row.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kMostThreads)
    reduce_rows_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                       typename Reducer::Acc* partial, std::uint32_t* counters,
                       std::int64_t n_columns, int n_pieces, std::int64_t piece) {
  const int n_threads = static_cast<int>(blockDim.x);
  const std::int64_t row = blockIdx.x / n_pieces;
  const std::int64_t begin = blockIdx.x % n_pieces * piece;
  const std::int64_t end = begin + piece < n_columns ? begin + piece : n_columns;
  auto acc = reduce_block(reducer, reduce_strided<kVec>(reducer, in + row * n_columns, begin, end,
                                                        threadIdx.x, n_threads));
  if (n_pieces > 1) {
    if (threadIdx.x == 0) partial[blockIdx.x] = acc;
    if (!is_last_block(counters + row, n_pieces)) return;
    const reducers::Combiner<Reducer> combiner{reducer};
    acc = reduce_block(combiner, reduce_strided<1>(combiner, partial + row * n_pieces, 0, n_pieces,
                                                   threadIdx.x, n_threads));
  }
  if (threadIdx.x == 0) out[row] = reducer.finish(acc);
}

// kVec adjacent elements, in one access if they fit 16 bytes.
template <int kVec, class T>
__device__ __forceinline__ void load_neighbours(const T* from, T* to) {
  if constexpr (sizeof(T) * kVec <= 16) {
    const auto loaded = load_vector<kVec>(from);
#pragma unroll
    for (int i = 0; i < kVec; ++i) to[i] = loaded.value[i];
  } else {
#pragma unroll
    for (int i = 0; i < kVec; ++i) to[i] = from[i];
  }
}

// Reduces kVec adjacent columns from `column` on, over this thread's part of rows begin to end,
// with kUnroll rows in flight. The block's y dimension divides the rows.
template <int kVec, int kUnroll, class Reducer, class T>
__device__ __forceinline__ void reduce_down(const Reducer& reducer, const T* column,
                                            std::int64_t begin, std::int64_t end,
                                            std::int64_t n_columns, typename Reducer::Acc* lanes) {
#pragma unroll
  for (int i = 0; i < kVec; ++i) lanes[i] = reducer.identity();
  const std::int64_t step = blockDim.y;
  const std::int64_t stride = step * n_columns;
  std::int64_t row = begin + threadIdx.y;
  const T* from = column + row * n_columns;
  for (; row + (kUnroll - 1) * step < end; row += kUnroll * step, from += kUnroll * stride) {
    T loaded[kUnroll][kVec];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load_neighbours<kVec>(from + u * stride, loaded[u]);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        lanes[i] = reducers::include(reducer, lanes[i], loaded[u][i], row + u * step);
      }
    }
  }
  for (; row < end; row += step, from += stride) {
    T loaded[kVec];
    load_neighbours<kVec>(from, loaded);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      lanes[i] = reducers::include(reducer, lanes[i], loaded[i], row);
    }
  }
}

// Combines the lanes of the block's threads with equal x; the result is in those with y = 0.
// `shared` must hold the lanes of the block.
template <int kVec, class Reducer>
__device__ __forceinline__ void combine_heights(const Reducer& reducer,
                                                typename Reducer::Acc* shared,
                                                typename Reducer::Acc* lanes) {
  const std::uint32_t slot = (threadIdx.y * blockDim.x + threadIdx.x) * kVec;
#pragma unroll
  for (int i = 0; i < kVec; ++i) shared[slot + i] = lanes[i];
  __syncthreads();
  for (std::uint32_t height = blockDim.y / 2; height > 0; height /= 2) {
    if (threadIdx.y < height) {
      const std::uint32_t other = slot + height * blockDim.x * kVec;
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        shared[slot + i] = reducer.combine(shared[slot + i], shared[other + i]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kVec; ++i) lanes[i] = shared[slot + i];
}

// Rows of a column piece in flight per thread: 64 bytes if a row's part has 8 or more.
template <int kVec, class T>
constexpr int rows_in_flight() {
  return sizeof(T) * kVec > 8 ? 4 : 8;
}

// Columns: one block for some adjacent ones, or for one of their pieces. The limit of four blocks
// per multiprocessor gives each thread enough registers for all its rows in flight; without it the
// compiler reads two at a time.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kThreads, 4)
    reduce_columns_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                          typename Reducer::Acc* partial, std::uint32_t* counters, Cube cube,
                          int n_pieces, std::int64_t piece, std::uint32_t column_blocks) {
  using Acc = typename Reducer::Acc;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* shared = reinterpret_cast<Acc*>(memory);
  const std::uint32_t column_block = blockIdx.x % column_blocks;
  const std::int64_t column = (std::int64_t{column_block} * blockDim.x + threadIdx.x) * kVec;
  const std::uint32_t rest = blockIdx.x / column_blocks;
  const std::int64_t outer = rest / n_pieces;
  const std::int64_t begin = std::int64_t{rest % n_pieces} * piece;
  const std::int64_t end = begin + piece < cube.axis ? begin + piece : cube.axis;
  const bool inside = column < cube.inner;
  Acc lanes[kVec];
  reduce_down<kVec, rows_in_flight<kVec, T>()>(reducer,
                                               in + outer * cube.axis * cube.inner + column, begin,
                                               inside ? end : begin, cube.inner, lanes);
  combine_heights<kVec>(reducer, shared, lanes);
  if (n_pieces > 1) {
    if (threadIdx.y == 0 && inside) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        partial[std::int64_t{rest} * cube.inner + column + i] = lanes[i];
      }
    }
    if (!is_last_block(counters + outer * column_blocks + column_block, n_pieces)) return;
    // With few rows each round waits for its full latency: more rows in flight mean fewer rounds.
    constexpr int kInFlight = sizeof(Acc) * kVec <= 16 ? 8 : 2;
    const reducers::Combiner<Reducer> combiner{reducer};
    reduce_down<kVec, kInFlight>(combiner, partial + outer * n_pieces * cube.inner + column, 0,
                                 inside ? n_pieces : 0, cube.inner, lanes);
    combine_heights<kVec>(combiner, shared, lanes);
  }
  if (threadIdx.y != 0 || !inside) return;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    out[outer * cube.inner + column + i] = reducer.finish(lanes[i]);
  }
}

// How an axis may be divided.
struct Cut {
  std::int64_t smallest;  // minimum length of a piece
  std::int64_t enough;    // maximum useful number of blocks
  std::int64_t unit;      // divides a piece's length
  std::int64_t turn;      // elements a block reads per round
};

struct Pieces {
  int count;
  std::int64_t length;  // of all pieces except the last
};

// Divides the axis that each of `blocks` blocks reduces. Long pieces are whole rounds, since a
// partial round takes as long as a full one.
inline Pieces cut_axis(std::int64_t blocks, std::int64_t axis, const Cut& cut) {
  const std::int64_t wanted = (cut.enough + blocks - 1) / std::max<std::int64_t>(blocks, 1);
  const std::int64_t count = std::clamp<std::int64_t>(axis / cut.smallest, 1, wanted);
  if (count == 1) return {1, axis};
  const std::int64_t even = (axis + count - 1) / count;
  const std::int64_t step = even >= 4 * cut.turn ? cut.turn : cut.unit;
  const std::int64_t length = (even + step - 1) / step * step;
  return {static_cast<int>((axis + length - 1) / length), length};
}

inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// For blocks that share outputs: memory for partial results, and one counter per output group.
// Empty if every output belongs to one block.
template <class Acc>
struct SharedOutputs {
  Buffer partial;
  std::uint32_t* counters = nullptr;

  SharedOutputs(StreamView stream, const Pieces& pieces, std::int64_t n_outputs) {
    if (pieces.count == 1) return;
    Pool& pool = pool_of(stream.device());
    partial =
        pool.allocate(static_cast<std::size_t>(n_outputs * pieces.count) * sizeof(Acc), stream);
    counters = pool.counters(stream);
  }
  Acc* partials() const { return reinterpret_cast<Acc*>(partial.data()); }
};

// Axes are divided while there are fewer blocks than this, so the number of groups is at most this.
inline constexpr std::int64_t kEnoughRowBlocks = 2112;    // four waves of 512 threads on 132 SMs
inline constexpr std::int64_t kEnoughColumnBlocks = 528;  // four on each of 132 SMs
static_assert(kEnoughRowBlocks <= std::int64_t{Pool::kCounters});
static_assert(kEnoughColumnBlocks <= std::int64_t{Pool::kCounters});

template <class T, class Reducer>
void reduce_rows(StreamView stream, const Reducer& reducer, const T* in,
                 typename Reducer::Result* out, Cube cube) {
  using Acc = typename Reducer::Acc;
  constexpr int kVec = vector_width<T>() > 4 ? 4 : vector_width<T>();
  constexpr std::int64_t kShort = 1024;
  const bool vectors =
      cube.axis % kVec == 0 && reinterpret_cast<std::uintptr_t>(in) % (kVec * sizeof(T)) == 0;
  if (cube.axis <= kShort) {
    launch({"reduce", stream, dim3(blocks_for(cube.outer * 32, kThreads)), dim3(kThreads)},
           vectors ? reduce_short_rows_kernel<kVec, Reducer, T>
                   : reduce_short_rows_kernel<1, Reducer, T>,
           reducer, in, out, cube.outer, cube.axis);
    return;
  }
  const std::int64_t turn = std::int64_t{kMostThreads} * kVec * vectors_in_flight<Acc>();
  const Pieces pieces =
      cut_axis(cube.outer, cube.axis, {std::int64_t{1} << 14, kEnoughRowBlocks, kVec, turn});
  const SharedOutputs<Acc> shared_outputs(stream, pieces, cube.outer);
  launch({"reduce", stream, dim3(static_cast<unsigned>(cube.outer * pieces.count)),
          dim3(pieces.count > 1 ? kMostThreads : kThreads)},
         vectors ? reduce_rows_kernel<kVec, Reducer, T> : reduce_rows_kernel<1, Reducer, T>,
         reducer, in, out, shared_outputs.partials(), shared_outputs.counters, cube.axis,
         pieces.count, pieces.length);
}

template <class T, class Reducer>
void reduce_columns(StreamView stream, const Reducer& reducer, const T* in,
                    typename Reducer::Result* out, Cube cube) {
  using Acc = typename Reducer::Acc;
  constexpr int kVec = vector_width<T>() > 4 ? 4 : vector_width<T>();
  const bool vectors =
      cube.inner % kVec == 0 && reinterpret_cast<std::uintptr_t>(in) % (kVec * sizeof(T)) == 0;
  const int vec = vectors ? kVec : 1;
  // A block is up to 64 lanes wide, dividing the columns evenly, and uses its remaining threads for
  // its height; one row high for short columns.
  constexpr unsigned kWidest = kThreads / 4;
  const std::int64_t lanes = (cube.inner + vec - 1) / vec;
  const unsigned column_blocks = blocks_for(lanes, cube.axis >= 16 ? kWidest : kThreads);
  const unsigned width = (blocks_for(lanes, column_blocks) + 7) / 8 * 8;
  const unsigned height = cube.axis >= 16 ? std::bit_floor(kThreads / width) : 1;
  const dim3 block(width, height);
  const int in_flight = vectors ? rows_in_flight<kVec, T>() : rows_in_flight<1, T>();
  const std::int64_t turn = std::int64_t{height} * in_flight;
  const Pieces pieces =
      cut_axis(cube.outer * column_blocks, cube.axis, {4 * turn, kEnoughColumnBlocks, 1, turn});
  const SharedOutputs<Acc> shared_outputs(stream, pieces, cube.outer * cube.inner);
  launch({"reduce", stream, dim3(static_cast<unsigned>(cube.outer * pieces.count * column_blocks)),
          block, static_cast<std::size_t>(width * height * vec) * sizeof(Acc)},
         vectors ? reduce_columns_kernel<kVec, Reducer, T> : reduce_columns_kernel<1, Reducer, T>,
         reducer, in, out, shared_outputs.partials(), shared_outputs.counters, cube, pieces.count,
         pieces.length, column_blocks);
}

template <class T, class Reducer>
void run_reduction(StreamView stream, const Reducer& reducer, const Operand& in, const Operand& out,
                   Cube cube) {
  const auto* from = static_cast<const T*>(in.data);
  auto* to = static_cast<typename Reducer::Result*>(out.data);
  if (cube.inner == 1) return reduce_rows<T>(stream, reducer, from, to, cube);
  reduce_columns<T>(stream, reducer, from, to, cube);
}

}  // namespace causeway::kernels::cuda
