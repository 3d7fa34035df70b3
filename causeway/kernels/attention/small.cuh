// Fragments loaded directly from device memory, for sequences short enough for one warp. Where the
// sum is over features, their order is free: a lane takes 16 adjacent bytes of a row as its part of
// two products. Where the sum is over rows, the order of the result's columns is free: a lane takes
// 8 bytes of two rows and ends with 16 adjacent bytes of the result. Rows are aligned to 16 bytes.
#pragma once

#include "causeway/kernels/attention/mma.cuh"
#include "causeway/kernels/attention/shape.cuh"

namespace causeway::kernels::cuda {

inline constexpr int kSmallWarps = 4;  // per block; they are independent

// The rows of one sequence or, if paired, of two: sequences of up to eight rows share a tile of
// sixteen with the next head, whose rows start at row 8.
template <class T, bool kPaired>
struct TileRows {
  T* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t next_head = 0;

  __device__ __forceinline__ TileRows(const HeadView<T>& view, std::int64_t entry, int head)
      : data(view.data + entry * view.batch_stride + head * view.head_stride),
        stride(view.row_stride),
        next_head(view.head_stride) {}
  __device__ __forceinline__ T* operator[](int row) const {
    return kPaired ? data + row % 8 * stride + row / 8 * next_head : data + row * stride;
  }
  // Whether the row exists, given the number of rows of each sequence.
  static __device__ __forceinline__ bool has(int row, int n_rows) {
    return (kPaired ? row % 8 : row) < n_rows;
  }
};

// Whether a query attends to a key; if paired, only within its own sequence.
template <bool kPaired>
__device__ __forceinline__ bool sees(const AttentionShape& shape, int query, int key, int limit) {
  if constexpr (kPaired) {
    return query / 8 == key / 8 && key % 8 < shape.seen(query % 8, limit);
  }
  return key < shape.seen(query, limit);
}

template <class T, int kVec, bool kPaired>
__device__ __forceinline__ Vector<T, kVec> load_part(const TileRows<const T, kPaired>& rows,
                                                     int row, int n_rows, int column,
                                                     const AttentionShape& shape) {
  Vector<T, kVec> part;
  memset(&part, 0, sizeof(part));
  if (rows.has(row, n_rows) && column < shape.head_size) {
    part = load_vector<kVec>(rows[row] + column);
  }
  return part;
}

// A lane's part of row `row` in columns 32 * group …: the words of products 2 * group (first two)
// and 2 * group + 1.
template <class T, bool kPaired>
__device__ __forceinline__ void load_row(std::uint32_t (&words)[4],
                                         const TileRows<const T, kPaired>& rows, int row,
                                         int n_rows, int group, const AttentionShape& shape) {
  const int t = threadIdx.x % 4;
  const auto part = load_part<T, 8>(rows, row, n_rows, 32 * group + 8 * t, shape);
  memcpy(words, &part, sizeof(words));
}

// Sixteen rows as A, with all features.
template <class T, int kGroups>
struct RowTile {
  std::uint32_t a[2 * kGroups][4];

  template <bool kPaired>
  __device__ __forceinline__ RowTile(const TileRows<const T, kPaired>& rows, int first, int n_rows,
                                     const AttentionShape& shape) {
    const int g = threadIdx.x % 32 / 4;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      std::uint32_t upper[4];
      std::uint32_t lower[4];
      load_row<T>(upper, rows, first + g, n_rows, group, shape);
      load_row<T>(lower, rows, first + g + 8, n_rows, group, shape);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        a[2 * group + half][0] = upper[2 * half];
        a[2 * group + half][1] = lower[2 * half];
        a[2 * group + half][2] = upper[2 * half + 1];
        a[2 * group + half][3] = lower[2 * half + 1];
      }
    }
  }
};

// Sixteen rows as B, for sums over rows: four of 32 columns of this lane's rows.
template <class T>
struct PairTile {
  std::uint32_t even[2][2];  // row 2t: columns 4g … 4g + 3; then row 2t + 8
  std::uint32_t odd[2][2];   // row 2t + 1, and 2t + 9

  template <bool kPaired>
  __device__ __forceinline__ void load(const TileRows<const T, kPaired>& rows, int first,
                                       int n_rows, int group, const AttentionShape& shape) {
    const int lane = threadIdx.x % 32;
    const int g = lane / 4;
    const int t = lane % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + 8 * half + 2 * t;
      const auto upper = load_part<T, 4>(rows, row, n_rows, 32 * group + 4 * g, shape);
      const auto lower = load_part<T, 4>(rows, row + 1, n_rows, 32 * group + 4 * g, shape);
      memcpy(even[half], &upper, sizeof(upper));
      memcpy(odd[half], &lower, sizeof(lower));
    }
  }
  // B of the product with columns 4g + j.
  __device__ __forceinline__ std::uint32_t b(int half, int j) const {
    return __byte_perm(even[half][j / 2], odd[half][j / 2], j % 2 == 0 ? 0x5410 : 0x7632);
  }
};

// Sums of sixteen rows and 32 columns per group: [group][j] is the product of columns 4g + j.
template <int kGroups>
struct ColumnSums {
  float sum[kGroups][4][4];

  __device__ __forceinline__ ColumnSums() {
#pragma unroll
    for (int i = 0; i < kGroups * 16; ++i) sum[i / 16][i / 4 % 4][i % 4] = 0;
  }

  template <class T>
  __device__ __forceinline__ void add(const std::uint32_t (&a)[4], const PairTile<T>& tile,
                                      int group) {
#pragma unroll
    for (int j = 0; j < 4; ++j) multiply<T>(sum[group][j], a, tile.b(0, j), tile.b(1, j));
  }

  // Rows first + g and first + g + 8, each times its factor.
  template <class T, bool kPaired>
  __device__ __forceinline__ void store(const TileRows<T, kPaired>& rows, int first, int n_rows,
                                        const float (&factor)[2],
                                        const AttentionShape& shape) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + lane / 4 + 8 * half;
      if (!rows.has(row, n_rows)) continue;
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const int column = 32 * group + 8 * (lane % 4);
        if (column >= shape.head_size) continue;
        Vector<T, 8> values;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          values.value[i] = T(sum[group][i % 4][2 * half + i / 4] * factor[half]);
        }
        store_vector(rows[row] + column, values);
      }
    }
  }
};

// The sequence (or the first of two) that a warp works on, and its part of it if several warps
// share one.
template <bool kPaired>
struct SmallPlace {
  std::int64_t sequence;
  std::int64_t entry;
  int head;
  int part;

  __device__ __forceinline__ SmallPlace(const AttentionShape& shape, int n_parts) {
    const std::int64_t unit = std::int64_t{blockIdx.x} * kSmallWarps + threadIdx.x / 32;
    sequence = (kPaired ? 2 : 1) * (unit / n_parts);
    part = static_cast<int>(unit % n_parts);
    entry = sequence / shape.n_heads;
    head = static_cast<int>(sequence % shape.n_heads);
  }
};

inline unsigned small_blocks(const AttentionShape& shape, int n_parts, bool paired) {
  const std::int64_t units = shape.n_sequences * n_parts / (paired ? 2 : 1);
  return static_cast<unsigned>((units + kSmallWarps - 1) / kSmallWarps);
}

// Calls body with compile-time numbers of feature groups (32) and row tiles (16): a warp has one or
// two tiles of a sequence of up to 32 rows, and one of four in a longer one. The last argument says
// whether a tile contains two sequences.
template <class Body>
void dispatch_small(const AttentionShape& shape, const Body& body) {
  const int rows = shape.n_queries > shape.n_keys ? shape.n_queries : shape.n_keys;
  const auto by_rows = [&](auto groups) {
    using std::integral_constant;
    constexpr std::false_type alone;
    if (rows <= 8 && shape.n_heads % 2 == 0) {
      return body(groups, integral_constant<int, 1>(), integral_constant<int, 1>(),
                  std::true_type());
    }
    if (rows <= 16)
      return body(groups, integral_constant<int, 1>(), integral_constant<int, 1>(), alone);
    if (rows <= 32)
      return body(groups, integral_constant<int, 2>(), integral_constant<int, 2>(), alone);
    body(groups, integral_constant<int, 1>(), integral_constant<int, 4>(), alone);
  };
  if (shape.head_size <= 32) return by_rows(std::integral_constant<int, 1>());
  by_rows(std::integral_constant<int, 2>());
}

}  // namespace causeway::kernels::cuda
