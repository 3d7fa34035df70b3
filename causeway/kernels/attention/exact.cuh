// Attention in f32 and f64 with multiply-adds, exact up to rounding: blocks of 16 by 16 threads,
// tiles of 64 (f32) or 32 (f64) rows of either side in shared memory, memory linear in the length.
// Bound by the multiply-adds and by shared memory: about half a load per multiply-add.
#pragma once

#include "causeway/kernels/attention/mma.cuh"
#include "causeway/kernels/attention/shape.cuh"
#include "causeway/kernels/math_device.h"

namespace causeway::kernels::cuda {

inline constexpr int kExactSide = 16;  // threads per side of a block
inline constexpr int kExactBlock = kExactSide * kExactSide;
inline constexpr int kExactHead = 128;  // maximum number of features

template <class T>
struct ExactPlan {
  static constexpr int kTile = sizeof(T) == 8 ? 32 : 64;  // rows
  static constexpr int kPer = kTile / kExactSide;         // rows per thread
  static constexpr int kParts = kExactHead / kExactSide;  // features per thread
  static constexpr int kScoreStride = kTile + 1;
  static constexpr int kScores = kTile * kScoreStride;

  // Odd, so that rows start in different banks.
  __host__ __device__ static int stride(int head_size) { return head_size / 2 * 2 + 1; }
  __host__ __device__ static int rows(int head_size) { return kTile * stride(head_size); }
};

// Thread (x, y) has rows y + 16 i of one side and x + 16 j of the other.
template <class T>
struct ExactTile {
  using Plan = ExactPlan<T>;
  int x = static_cast<int>(threadIdx.x) % kExactSide;
  int y = static_cast<int>(threadIdx.x) / kExactSide;
  int head_size;

  __device__ __forceinline__ explicit ExactTile(int size) : head_size(size) {}

  __device__ __forceinline__ void load(T* tile, const HeadRows<const T>& rows, int first,
                                       int n_rows) const {
    const int stride = Plan::stride(head_size);
    for (int at = static_cast<int>(threadIdx.x); at < Plan::kTile * head_size; at += kExactBlock) {
      const int row = at / head_size;
      const int column = at % head_size;
      tile[row * stride + column] = first + row < n_rows ? rows[first + row][column] : T(0);
    }
  }

  // result[i][j] = dot product of row y + 16 i of a and row x + 16 j of b.
  __device__ __forceinline__ void products(T (&result)[Plan::kPer][Plan::kPer], const T* a,
                                           const T* b) const {
    const int stride = Plan::stride(head_size);
#pragma unroll
    for (int i = 0; i < Plan::kPer * Plan::kPer; ++i) result[i / Plan::kPer][i % Plan::kPer] = 0;
    for (int column = 0; column < head_size; ++column) {
      T left[Plan::kPer];
      T right[Plan::kPer];
#pragma unroll
      for (int i = 0; i < Plan::kPer; ++i) {
        left[i] = a[(y + kExactSide * i) * stride + column];
        right[i] = b[(x + kExactSide * i) * stride + column];
      }
#pragma unroll
      for (int i = 0; i < Plan::kPer; ++i) {
#pragma unroll
        for (int j = 0; j < Plan::kPer; ++j) result[i][j] += left[i] * right[j];
      }
    }
  }

  // sums[i][j] += sum over rows r of weight(y + 16 i, r) * b[r][x + 16 j]; `row_step` and
  // `sum_step` are the strides of the weights along i and r.
  __device__ __forceinline__ void weigh(T (&sums)[Plan::kPer][Plan::kParts], const T* weights,
                                        int row_step, int sum_step, const T* b) const {
    const int stride = Plan::stride(head_size);
    for (int row = 0; row < Plan::kTile; ++row) {
      T left[Plan::kPer];
#pragma unroll
      for (int i = 0; i < Plan::kPer; ++i) {
        left[i] = weights[(y + kExactSide * i) * row_step + row * sum_step];
      }
#pragma unroll
      for (int j = 0; j < Plan::kParts; ++j) {
        if (x + kExactSide * j >= head_size) break;
        const T right = b[row * stride + x + kExactSide * j];
#pragma unroll
        for (int i = 0; i < Plan::kPer; ++i) sums[i][j] += left[i] * right;
      }
    }
  }

  __device__ __forceinline__ void store(const T (&sums)[Plan::kPer][Plan::kParts],
                                        const T (&factor)[Plan::kPer], const HeadRows<T>& rows,
                                        int first, int n_rows) const {
#pragma unroll
    for (int i = 0; i < Plan::kPer; ++i) {
      const int row = first + y + kExactSide * i;
      if (row >= n_rows) continue;
#pragma unroll
      for (int j = 0; j < Plan::kParts; ++j) {
        if (x + kExactSide * j >= head_size) break;
        rows[row][x + kExactSide * j] = sums[i][j] * factor[i];
      }
    }
  }
};

// The sum, or the maximum, over the sixteen threads of a row, in each of them.
template <class T>
__device__ __forceinline__ T sum_of_side(T value) {
#pragma unroll
  for (int distance = kExactSide / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

template <class T>
__device__ __forceinline__ T largest_of_side(T value) {
#pragma unroll
  for (int distance = kExactSide / 2; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

// The position of a block's tile of queries or keys.
struct ExactPlace {
  std::int64_t sequence;
  std::int64_t entry;
  int head;
  int first;

  __device__ __forceinline__ ExactPlace(const AttentionShape& shape, int n_tiles, int tile_rows) {
    sequence = blockIdx.x / static_cast<unsigned>(n_tiles);
    entry = sequence / shape.n_heads;
    head = static_cast<int>(sequence % shape.n_heads);
    first = static_cast<int>(blockIdx.x % static_cast<unsigned>(n_tiles)) * tile_rows;
  }
};

}  // namespace causeway::kernels::cuda
