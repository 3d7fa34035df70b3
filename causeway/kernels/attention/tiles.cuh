// Tiles of rows in shared memory, and fragments loaded from them.
#pragma once

#include "causeway/kernels/attention/mma.cuh"
#include "causeway/kernels/attention/shape.cuh"

namespace causeway::kernels::cuda {

// Elements between rows of a tile: an odd multiple of eight, so that the eight rows of a matrix are
// in different banks.
template <int kHead>
inline constexpr int kTileStride = kHead / 8 % 2 == 1 ? kHead : kHead + 8;

template <int kHead, int kRows>
inline constexpr int kTileBytes = kTileStride<kHead>* kRows * 2;

// Eight adjacent elements of a row; zeros if the row or the columns do not exist.
template <class T>
__device__ __forceinline__ Vector<T, 8> load_eight(const HeadRows<const T>& rows, int row,
                                                   int n_rows, int column,
                                                   const AttentionShape& shape) {
  Vector<T, 8> values;
  memset(&values, 0, sizeof(values));
  if (row >= n_rows || column >= shape.head_size) return values;
  const T* from = rows[row] + column;
  if (shape.vectors) return load_vector<8>(from);
#pragma unroll
  for (int i = 0; i < 8; ++i) values.value[i] = from[i];
  return values;
}

// Starts copying rows from `first` on; rows from n_rows on are zeros.
template <int kHead, int kRows, int kBlock, class T>
__device__ __forceinline__ void copy_tile(T* tile, const HeadRows<const T>& rows, int first,
                                          int n_rows, const AttentionShape& shape) {
  constexpr int kParts = kHead / 8;  // per row, 16 bytes each
  static_assert(kRows * kParts % 32 == 0);
#pragma unroll
  for (int i = 0; i < (kRows * kParts + kBlock - 1) / kBlock; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kBlock;
    if (kRows * kParts % kBlock != 0 && at >= kRows * kParts) break;
    const int row = at / kParts;
    const int column = at % kParts * 8;
    T* to = tile + row * kTileStride<kHead> + column;
    if (shape.vectors) {
      const bool there = first + row < n_rows && column < shape.head_size;
      copy_async(to, there ? rows[first + row] + column : rows.data, there);
    } else {
      store_shared(to, load_eight(rows, first + row, n_rows, column, shape));
    }
  }
}

// The address a lane passes for its row of four matrices that cover 16 rows by 16 columns at (row,
// column), in the order upper left, lower left, upper right, lower right. Gives A with
// load_matrices, or B with load_transposed for sums over the tile's rows.
template <int kStride, class T>
__device__ __forceinline__ const T* down_first(const T* tile, int row, int column) {
  const int lane = threadIdx.x % 32;
  return tile + (row + lane % 16) * kStride + column + lane / 16 * 8;
}

// The same in the order upper left, upper right, lower left, lower right: two B's with
// load_matrices for sums over the tile's columns, or A with load_transposed from a tile that holds
// A transposed.
template <int kStride, class T>
__device__ __forceinline__ const T* right_first(const T* tile, int row, int column) {
  const int lane = threadIdx.x % 32;
  return tile + (row + lane % 8 + lane / 16 * 8) * kStride + column + lane / 8 % 2 * 8;
}

// A warp's kTiles times sixteen rows as A, held in registers or, if registers are scarce, fetched
// at each use. Each step covers sixteen features; a remaining eight are a step of their own.
template <class T, int kHead, int kTiles, bool kHeld>
struct RowFragments {
  static constexpr int kSteps = (kHead + 15) / 16;
  const T* tile;
  int row;
  std::uint32_t held[kHeld ? kTiles : 1][kHeld ? kSteps : 1][4];

  // The tile must have arrived.
  __device__ __forceinline__ RowFragments(const T* from, int first) : tile(from), row(first) {
    if constexpr (kHeld) {
#pragma unroll
      for (int part = 0; part < kTiles; ++part) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) fetch(held[part][step], part, step);
      }
    }
  }
  __device__ __forceinline__ void fetch(std::uint32_t (&a)[4], int part, int step) const {
    const T* from = down_first<kTileStride<kHead>>(tile, row + 16 * part, 16 * step);
    if (16 * step + 8 == kHead) {
      load_two_matrices(a, from);
    } else {
      load_matrices(a, from);
    }
  }
  // Only for rows that are held.
  __device__ __forceinline__ void negate() {
#pragma unroll
    for (int part = 0; part < kTiles; ++part) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int i = 0; i < 4; ++i) held[part][step][i] ^= 0x80008000u;
      }
    }
  }
  __device__ __forceinline__ void get(std::uint32_t (&a)[4], int part, int step) const {
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = held[part][step][i];
    } else {
      fetch(a, part, step);
    }
  }
};

// sums += rows · sixteen rows of a tile from `row` on, summed over features. Writes sums `at` and
// `at` + 1, of eight columns each. One fetch of the tile serves all kTiles.
template <class T, int kHead, int kTiles, bool kHeld, int kWide>
__device__ __forceinline__ void multiply_rows(float (&sums)[kTiles][kWide][4],
                                              const RowFragments<T, kHead, kTiles, kHeld>& rows,
                                              const T* tile, int row, int at = 0) {
  std::uint32_t a[4];
  std::uint32_t b[4];
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    load_matrices(b, right_first<kTileStride<kHead>>(tile, row, 16 * step));
#pragma unroll
    for (int part = 0; part < kTiles; ++part) {
      rows.get(a, part, step);
      multiply<T>(sums[part][at], a, b[0], b[1]);
      multiply<T>(sums[part][at + 1], a, b[2], b[3]);
    }
  }
  if constexpr (kHead % 16 != 0) {
    load_two_matrices(b, down_first<kTileStride<kHead>>(tile, row, kHead - 8));
#pragma unroll
    for (int part = 0; part < kTiles; ++part) {
      rows.get(a, part, kHead / 16);
      multiply_eight<T>(sums[part][at], a, b[0]);
      multiply_eight<T>(sums[part][at + 1], a, b[1]);
    }
  }
}

// sums += a · sixteen rows of a tile, summed over those rows.
template <class T, int kHead, int kTiles>
__device__ __forceinline__ void add_rows(float (&sums)[kTiles][kHead / 8][4],
                                         const std::uint32_t (&a)[kTiles][4], const T* tile,
                                         int row) {
  std::uint32_t b[4];
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    load_transposed(b, down_first<kTileStride<kHead>>(tile, row, 16 * step));
#pragma unroll
    for (int part = 0; part < kTiles; ++part) {
      multiply<T>(sums[part][2 * step], a[part], b[0], b[1]);
      multiply<T>(sums[part][2 * step + 1], a[part], b[2], b[3]);
    }
  }
  if constexpr (kHead % 16 != 0) {
    load_two_transposed(b, down_first<kTileStride<kHead>>(tile, row, kHead - 8));
#pragma unroll
    for (int part = 0; part < kTiles; ++part) {
      multiply<T>(sums[part][kHead / 8 - 1], a[part], b[0], b[1]);
    }
  }
}

// Sixteen columns of sums, `at` and the next, as the A of a product over them.
template <class T, int kTiles, int kWide>
__device__ __forceinline__ void as_rows(std::uint32_t (&a)[kTiles][4],
                                        const float (&sums)[kTiles][kWide][4], int at = 0) {
#pragma unroll
  for (int part = 0; part < kTiles; ++part) {
    const float(&left)[4] = sums[part][at];
    const float(&right)[4] = sums[part][at + 1];
    a[part][0] = pack<T>(left[0], left[1]);
    a[part][1] = pack<T>(left[2], left[3]);
    a[part][2] = pack<T>(right[0], right[1]);
    a[part][3] = pack<T>(right[2], right[3]);
  }
}

// Writes a warp's sixteen rows of sums, each row times its factor, through sixteen rows of shared
// memory owned by the warp.
template <class T, int kHead>
__device__ __forceinline__ void store_rows(T* stage, const float (&sums)[kHead / 8][4],
                                           const float (&factor)[2], const HeadRows<T>& rows,
                                           int first, int n_rows, const AttentionShape& shape) {
  constexpr int kStride = kTileStride<kHead>;
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int part = 0; part < kHead / 8; ++part) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t pair =
          pack<T>(sums[part][2 * half] * factor[half], sums[part][2 * half + 1] * factor[half]);
      T* to = stage + (lane / 4 + 8 * half) * kStride + 8 * part + 2 * (lane % 4);
      *reinterpret_cast<std::uint32_t*>(to) = pair;
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < (kHead + 15) / 16; ++i) {
    const int at = lane + 32 * i;
    if (kHead % 16 != 0 && at >= 2 * kHead) break;
    const int row = at / (kHead / 8);
    const int column = at % (kHead / 8) * 8;
    if (first + row >= n_rows || column >= shape.head_size) continue;
    const auto values = load_vector<8>(stage + row * kStride + column);
    T* to = rows[first + row] + column;
    if (shape.vectors) {
      store_vector(to, values);
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j) to[j] = values.value[j];
    }
  }
}

// Dot products of gradient and out for rows first + g and first + g + 8, in all four lanes of a
// row.
template <class T, int kHead>
__device__ __forceinline__ void row_dots(float (&dots)[2], const HeadRows<const T>& gradient,
                                         const HeadRows<const T>& out, int first, int n_rows,
                                         const AttentionShape& shape) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + lane / 4 + 8 * half;
    float sum = 0;
#pragma unroll
    for (int group = 0; group < (kHead + 31) / 32; ++group) {
      const int column = 32 * group + 8 * (lane % 4);
      const auto a = load_eight(gradient, row, n_rows, column, shape);
      const auto b = load_eight(out, row, n_rows, column, shape);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum += static_cast<float>(a.value[i]) * static_cast<float>(b.value[i]);
      }
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    dots[half] = sum + __shfl_xor_sync(0xffffffffu, sum, 2);
  }
}

// The sequence and tile that a block works on.
struct TilePlace {
  std::int64_t sequence;
  std::int64_t entry;
  int head;
  int tile;

  __device__ __forceinline__ TilePlace(const AttentionShape& shape, int n_tiles) {
    sequence = blockIdx.x / static_cast<unsigned>(n_tiles);
    tile = static_cast<int>(blockIdx.x % static_cast<unsigned>(n_tiles));
    entry = sequence / shape.n_heads;
    head = static_cast<int>(sequence % shape.n_heads);
  }
};

// Calls body with the padded head size as a compile-time constant.
template <class Body>
void dispatch_head(int head_size, const Body& body) {
  if (head_size <= 16) return body(std::integral_constant<int, 16>());
  if (head_size <= 24) return body(std::integral_constant<int, 24>());
  if (head_size <= 32) return body(std::integral_constant<int, 32>());
  if (head_size <= 64) return body(std::integral_constant<int, 64>());
  if (head_size <= 96) return body(std::integral_constant<int, 96>());
  body(std::integral_constant<int, 128>());
}

}  // namespace causeway::kernels::cuda
