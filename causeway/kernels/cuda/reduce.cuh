// The GPU's reductions over a contiguous cube. Bytes: the input once; bound by memory. The work is
// cut by the shape alone and partial results are combined in a fixed order, so that the same input
// gives the same bits every time.
#pragma once

#include "causeway/kernels/cuda/elementwise.cuh"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <cstdint>

namespace causeway::kernels::cuda {

// A value of any size from the lane `distance` further on.
template <class Acc>
__device__ __forceinline__ Acc shuffle_down(const Acc& value, int distance) {
  static_assert(sizeof(Acc) % 4 == 0);
  constexpr int kWords = sizeof(Acc) / 4;
  std::uint32_t words[kWords];
  memcpy(words, &value, sizeof(Acc));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(0xffffffffu, words[i], distance);
  Acc moved;
  memcpy(&moved, words, sizeof(Acc));
  return moved;
}

// The warp's values combined, in lane 0.
template <class Reducer>
__device__ __forceinline__ typename Reducer::Acc reduce_warp(const Reducer& reducer,
                                                             typename Reducer::Acc acc) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    acc = reducer.combine(acc, shuffle_down(acc, distance));
  }
  return acc;
}

// The block's values combined, in thread 0.
template <class Reducer>
__device__ __forceinline__ typename Reducer::Acc reduce_block(const Reducer& reducer,
                                                              typename Reducer::Acc acc) {
  using Acc = typename Reducer::Acc;
  __shared__ __align__(16) unsigned char memory[sizeof(Acc) * 32];
  auto* warps = reinterpret_cast<Acc*>(memory);
  acc = reduce_warp(reducer, acc);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = acc;
  __syncthreads();
  if (threadIdx.x < 32) {
    acc = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : reducer.identity();
    acc = reduce_warp(reducer, acc);
  }
  return acc;
}

// Elements first, first + step, … of [0, count) of a row, kVec at a time, four vectors in flight.
template <int kVec, class Reducer, class T>
__device__ __forceinline__ typename Reducer::Acc reduce_strided(const Reducer& reducer,
                                                                const T* row, std::int64_t begin,
                                                                std::int64_t end, int thread,
                                                                int n_threads) {
  using Acc = typename Reducer::Acc;
  constexpr int kUnroll = sizeof(Acc) > 8 ? 2 : 4;
  Acc lanes[kVec];
#pragma unroll
  for (int i = 0; i < kVec; ++i) lanes[i] = reducer.identity();
  const std::int64_t step = std::int64_t{n_threads} * kVec;
  std::int64_t at = begin + std::int64_t{thread} * kVec;
  for (; at + (kUnroll - 1) * step + kVec <= end; at += kUnroll * step) {
    Vector<T, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      loaded[u] = *reinterpret_cast<const Vector<T, kVec>*>(row + at + u * step);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        lanes[i] = reducer.combine(lanes[i], reducer.load(loaded[u].value[i], at + u * step + i));
      }
    }
  }
  for (; at < end; at += step) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      if (at + i < end) lanes[i] = reducer.combine(lanes[i], reducer.load(row[at + i], at + i));
    }
  }
#pragma unroll
  for (int width = kVec / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) lanes[i] = reducer.combine(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

// Short rows: a warp each.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_short_rows_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                             std::int64_t n_rows, std::int64_t n_columns) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (row >= n_rows) return;
  auto acc = reduce_strided<kVec>(reducer, in + row * n_columns, 0, n_columns, threadIdx.x % 32, 32);
  acc = reduce_warp(reducer, acc);
  if (threadIdx.x % 32 == 0) out[row] = reducer.finish(acc);
}

// Long rows: a block each; a row cut into pieces leaves a partial result for each.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_rows_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                       typename Reducer::Acc* partial, std::int64_t n_columns, int n_pieces,
                       std::int64_t piece) {
  const std::int64_t row = blockIdx.x / n_pieces;
  const std::int64_t begin = blockIdx.x % n_pieces * piece;
  const std::int64_t end = begin + piece < n_columns ? begin + piece : n_columns;
  const auto acc = reduce_block(
      reducer, reduce_strided<kVec>(reducer, in + row * n_columns, begin, end, threadIdx.x, kThreads));
  if (threadIdx.x != 0) return;
  if (n_pieces == 1) {
    out[row] = reducer.finish(acc);
  } else {
    partial[blockIdx.x] = acc;
  }
}

// Columns: a thread walks down kVec neighbouring columns, the block's y side shares the rows.
template <int kVec, class Reducer, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_columns_kernel(Reducer reducer, const T* in, typename Reducer::Result* out,
                          typename Reducer::Acc* partial, Cube cube, int n_pieces,
                          std::int64_t piece, std::uint32_t column_blocks) {
  using Acc = typename Reducer::Acc;
  constexpr int kUnroll = 4;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* shared = reinterpret_cast<Acc*>(memory);
  const std::int64_t column =
      (std::int64_t{blockIdx.x % column_blocks} * blockDim.x + threadIdx.x) * kVec;
  const std::uint32_t rest = blockIdx.x / column_blocks;
  const std::int64_t begin = std::int64_t{rest % n_pieces} * piece;
  const std::int64_t end = begin + piece < cube.axis ? begin + piece : cube.axis;
  const std::int64_t outer = rest / n_pieces;
  const T* from = in + outer * cube.axis * cube.inner + column;
  Acc lanes[kVec];
#pragma unroll
  for (int i = 0; i < kVec; ++i) lanes[i] = reducer.identity();
  if (column < cube.inner) {
    const std::int64_t step = blockDim.y;
    std::int64_t row = begin + threadIdx.y;
    for (; row + (kUnroll - 1) * step < end; row += kUnroll * step) {
      Vector<T, kVec> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        loaded[u] =
            *reinterpret_cast<const Vector<T, kVec>*>(from + (row + u * step) * cube.inner);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int i = 0; i < kVec; ++i) {
          lanes[i] = reducer.combine(lanes[i], reducer.load(loaded[u].value[i], row + u * step));
        }
      }
    }
    for (; row < end; row += step) {
      const auto loaded = *reinterpret_cast<const Vector<T, kVec>*>(from + row * cube.inner);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        lanes[i] = reducer.combine(lanes[i], reducer.load(loaded.value[i], row));
      }
    }
  }
  const std::uint32_t slot = (threadIdx.y * blockDim.x + threadIdx.x) * kVec;
#pragma unroll
  for (int i = 0; i < kVec; ++i) shared[slot + i] = lanes[i];
  __syncthreads();
  for (std::uint32_t height = blockDim.y / 2; height > 0; height /= 2) {
    if (threadIdx.y < height) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        shared[slot + i] =
            reducer.combine(shared[slot + i], shared[slot + height * blockDim.x * kVec + i]);
      }
    }
    __syncthreads();
  }
  if (threadIdx.y != 0 || column >= cube.inner) return;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    if (n_pieces == 1) {
      out[outer * cube.inner + column + i] = reducer.finish(shared[slot + i]);
    } else {
      partial[std::int64_t{rest} * cube.inner + column + i] = shared[slot + i];
    }
  }
}

// The pieces of one output, `inner` apart, combined by a warp.
template <class Reducer>
__global__ void __launch_bounds__(kThreads)
    combine_pieces_kernel(Reducer reducer, const typename Reducer::Acc* partial,
                          typename Reducer::Result* out, std::int64_t n_outputs,
                          std::int64_t inner, int n_pieces) {
  const std::int64_t output = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (output >= n_outputs) return;
  const auto* from = partial + output / inner * n_pieces * inner + output % inner;
  auto acc = reducer.identity();
  for (int piece = threadIdx.x % 32; piece < n_pieces; piece += 32) {
    acc = reducer.combine(acc, from[piece * inner]);
  }
  acc = reduce_warp(reducer, acc);
  if (threadIdx.x % 32 == 0) out[output] = reducer.finish(acc);
}

// How many pieces an axis is cut into, so that there are blocks enough to fill any GPU of today.
inline int count_pieces(std::int64_t blocks, std::int64_t axis, std::int64_t smallest_piece) {
  constexpr std::int64_t kEnoughBlocks = 2048;
  const std::int64_t wanted = (kEnoughBlocks + blocks - 1) / std::max<std::int64_t>(blocks, 1);
  return static_cast<int>(std::clamp<std::int64_t>(axis / smallest_piece, 1, wanted));
}

inline unsigned blocks_for(std::int64_t items, std::int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

template <class T, class Reducer>
void combine_pieces(StreamView stream, const Reducer& reducer, const Buffer& partial,
                    typename Reducer::Result* out, Cube cube, int n_pieces) {
  const std::int64_t n_outputs = cube.outer * cube.inner;
  launch({"reduce", stream, dim3(blocks_for(n_outputs * 32, kThreads)), dim3(kThreads)},
         combine_pieces_kernel<Reducer>, reducer,
         reinterpret_cast<const typename Reducer::Acc*>(partial.data()), out, n_outputs, cube.inner,
         n_pieces);
}

template <class T, class Reducer>
void reduce_rows(StreamView stream, const Reducer& reducer, const T* in,
                 typename Reducer::Result* out, Cube cube) {
  constexpr int kVec = vector_width<T>() > 4 ? 4 : vector_width<T>();
  constexpr std::int64_t kShort = 1024;
  const bool vectors = cube.axis % kVec == 0 &&
                       reinterpret_cast<std::uintptr_t>(in) % (kVec * sizeof(T)) == 0;
  if (cube.axis <= kShort) {
    launch({"reduce", stream, dim3(blocks_for(cube.outer * 32, kThreads)), dim3(kThreads)},
           vectors ? reduce_short_rows_kernel<kVec, Reducer, T>
                   : reduce_short_rows_kernel<1, Reducer, T>,
           reducer, in, out, cube.outer, cube.axis);
    return;
  }
  const int n_pieces = count_pieces(cube.outer, cube.axis, std::int64_t{1} << 14);
  const std::int64_t even = (cube.axis + n_pieces - 1) / n_pieces;
  const std::int64_t piece = (even + kVec - 1) / kVec * kVec;
  Buffer partial;
  if (n_pieces > 1) {
    const auto count = static_cast<std::size_t>(cube.outer * n_pieces);
    partial = pool_of(stream.device()).allocate(count * sizeof(typename Reducer::Acc), stream);
  }
  launch({"reduce", stream, dim3(static_cast<unsigned>(cube.outer * n_pieces)), dim3(kThreads)},
         vectors ? reduce_rows_kernel<kVec, Reducer, T> : reduce_rows_kernel<1, Reducer, T>, reducer,
         in, out, reinterpret_cast<typename Reducer::Acc*>(partial.data()), cube.axis, n_pieces,
         piece);
  if (n_pieces > 1) combine_pieces<T>(stream, reducer, partial, out, cube, n_pieces);
}

template <class T, class Reducer>
void reduce_columns(StreamView stream, const Reducer& reducer, const T* in,
                    typename Reducer::Result* out, Cube cube) {
  using Acc = typename Reducer::Acc;
  constexpr int kVec = vector_width<T>() > 4 ? 4 : vector_width<T>();
  const bool vectors = cube.inner % kVec == 0 &&
                       reinterpret_cast<std::uintptr_t>(in) % (kVec * sizeof(T)) == 0;
  const int vec = vectors ? kVec : 1;
  const unsigned height = cube.axis >= 64 ? 8 : (cube.axis >= 16 ? 4 : 1);
  const dim3 block(kThreads / height, height);
  const unsigned column_blocks = blocks_for(cube.inner, std::int64_t{block.x} * vec);
  const int n_pieces = count_pieces(cube.outer * column_blocks, cube.axis, 64);
  const std::int64_t piece = (cube.axis + n_pieces - 1) / n_pieces;
  Buffer partial;
  if (n_pieces > 1) {
    const auto count = static_cast<std::size_t>(cube.outer * n_pieces * cube.inner);
    partial = pool_of(stream.device()).allocate(count * sizeof(Acc), stream);
  }
  const std::size_t shared = static_cast<std::size_t>(kThreads * vec) * sizeof(Acc);
  launch({"reduce", stream, dim3(static_cast<unsigned>(cube.outer * n_pieces * column_blocks)), block,
          shared},
         vectors ? reduce_columns_kernel<kVec, Reducer, T> : reduce_columns_kernel<1, Reducer, T>,
         reducer, in, out, reinterpret_cast<Acc*>(partial.data()), cube, n_pieces, piece,
         column_blocks);
  if (n_pieces > 1) combine_pieces<T>(stream, reducer, partial, out, cube, n_pieces);
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
