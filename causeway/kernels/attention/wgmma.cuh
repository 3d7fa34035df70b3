// Building blocks of attention on Hopper: products of a warpgroup (wgmma), whose operands are tiles
// in shared memory, and the swizzled layout of those tiles. A file that uses them is compiled for
// sm_90a only.
//
// A tile has 64 rows of kHead 16-bit features, 32 or 64. The 16-byte pieces of a row are permuted
// by the row number, which is the hardware's swizzle over 64 or 128 bytes: a tile can be read by
// rows or by columns without bank conflicts. Tiles are aligned to 1,024 bytes. The accumulators of
// a warp are those of mma.cuh: a warp has 16 of the 64 rows, and sum[j] covers columns from 8 j on.
#pragma once

#include "causeway/kernels/attention/mma.cuh"
#include "causeway/kernels/attention/shape.cuh"

namespace causeway::kernels::cuda {

inline constexpr int kGroupRows = 64;      // of a tile
inline constexpr int kGroupThreads = 128;  // of a warpgroup

template <int kHead>
inline constexpr int kGroupTile = kGroupRows* kHead;  // elements

__device__ __forceinline__ unsigned char* swizzled_memory() {
  extern __shared__ __align__(1024) unsigned char dynamic_swizzled_memory[];
  return dynamic_swizzled_memory;
}

// The place of a piece of eight elements in a tile.
template <int kHead>
__device__ __forceinline__ int swizzled(int row, int column) {
  static_assert(kHead == 32 || kHead == 64);
  constexpr int kPieces = kHead / 8;
  const int by = (kHead == 64 ? row : row / 2) % kPieces;
  return row * kHead + (column / 8 ^ by) * 8;
}

// Starts copying 64 rows from `first` on; rows from n_rows on and missing columns are zeros. Rows
// are aligned to 16 bytes.
template <int kHead, class T>
__device__ __forceinline__ void copy_group_tile(T* tile, const HeadRows<const T>& rows, int first,
                                                int n_rows, int head_size) {
  constexpr int kPieces = kHead / 8;
#pragma unroll
  for (int i = 0; i < kGroupRows * kPieces / kGroupThreads; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kGroupThreads;
    const int row = at / kPieces;
    const int column = at % kPieces * 8;
    const bool there = first + row < n_rows && column < head_size;
    copy_async(tile + swizzled<kHead>(row, column), there ? rows[first + row] + column : rows.data,
               there);
  }
}

// Waits for this thread's copies and makes them visible to the tensor cores; a barrier must follow.
__device__ __forceinline__ void wait_for_group_copies() {
  wait_for_copies<0>();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A tile as an operand. For sums over features: rows(step) starts at feature 16 * step. For sums
// over rows: columns(step) starts at row 16 * step.
template <int kHead>
struct GroupOperand {
  static constexpr std::uint32_t kEightRows = 8 * kHead * 2 / 16;           // in units of 16 bytes
  static constexpr std::uint32_t kSwizzle = (kHead == 64 ? 1u : 2u) << 30;  // over 128 or 64 bytes
  std::uint32_t low;  // of the descriptor; a sum of 32 bits never carries

  __device__ __forceinline__ explicit GroupOperand(const void* tile)
      : low((shared_address(tile) >> 4 & 0x3fff) | 1u << 16) {}
  __device__ __forceinline__ std::uint64_t rows(int step) const { return at(2 * step); }
  __device__ __forceinline__ std::uint64_t columns(int step) const { return at(2 * kHead * step); }
  __device__ __forceinline__ std::uint64_t at(int offset) const {
    return std::uint64_t{kEightRows | kSwizzle} << 32 | (low + static_cast<std::uint32_t>(offset));
  }
};

// Before products: earlier writes of registers are done.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kLeft committed groups of wgmma are pending.
template <int kLeft>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kLeft) : "memory");
}

// To be called after the wait: keeps the compiler from reading the sums earlier.
template <int kWide>
__device__ __forceinline__ void finish(float (&sums)[kWide][4]) {
#pragma unroll
  for (int j = 0; j < 4 * kWide; ++j) asm volatile("" : "+f"(sums[j / 4][j % 4])::"memory");
}

#define CAUSEWAY_SUMS(j) "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
#define CAUSEWAY_32_SUMS                                                                    \
  CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1), CAUSEWAY_SUMS(2), CAUSEWAY_SUMS(3), CAUSEWAY_SUMS(4), \
      CAUSEWAY_SUMS(5), CAUSEWAY_SUMS(6), CAUSEWAY_SUMS(7)
#define CAUSEWAY_32_NAMES                                                                       \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define CAUSEWAY_16_NAMES "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
#define CAUSEWAY_8_NAMES "{%0, %1, %2, %3, %4, %5, %6, %7}, "

// sums = a b, or sums += a b if `adds`; 64 x 64 results, summed over 16 features of both tiles.
template <class T>
__device__ __forceinline__ void multiply_group(float (&sums)[8][4], std::uint64_t a,
                                               std::uint64_t b, bool adds) {
  const int predicate = adds ? 1 : 0;
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %34, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " CAUSEWAY_32_NAMES
        "%32, %33, p, 1, 1, 0, 0;}"
        : CAUSEWAY_32_SUMS
        : "l"(a), "l"(b), "r"(predicate));
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %34, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " CAUSEWAY_32_NAMES
        "%32, %33, p, 1, 1, 0, 0;}"
        : CAUSEWAY_32_SUMS
        : "l"(a), "l"(b), "r"(predicate));
  }
}

// sums += a b, summed over 16 rows of b's tile; a is in registers.
template <class T>
__device__ __forceinline__ void add_group(float (&sums)[8][4], const std::uint32_t (&a)[4],
                                          std::uint64_t b) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " CAUSEWAY_32_NAMES
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : CAUSEWAY_32_SUMS
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " CAUSEWAY_32_NAMES
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : CAUSEWAY_32_SUMS
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}

template <class T>
__device__ __forceinline__ void add_group(float (&sums)[4][4], const std::uint32_t (&a)[4],
                                          std::uint64_t b) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " CAUSEWAY_16_NAMES
                 "{%16, %17, %18, %19}, %20, 1, 1, 1, 1;"
                 : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1), CAUSEWAY_SUMS(2), CAUSEWAY_SUMS(3)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " CAUSEWAY_16_NAMES
                 "{%16, %17, %18, %19}, %20, 1, 1, 1, 1;"
                 : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1), CAUSEWAY_SUMS(2), CAUSEWAY_SUMS(3)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}

// The same for the first 16 rows of b: 64 x 16 results.
template <class T>
__device__ __forceinline__ void multiply_group(float (&sums)[2][4], std::uint64_t a,
                                               std::uint64_t b, bool adds) {
  const int predicate = adds ? 1 : 0;
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; "
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " CAUSEWAY_8_NAMES
        "%8, %9, p, 1, 1, 0, 0;}"
        : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1)
        : "l"(a), "l"(b), "r"(predicate));
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; "
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " CAUSEWAY_8_NAMES
        "%8, %9, p, 1, 1, 0, 0;}"
        : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1)
        : "l"(a), "l"(b), "r"(predicate));
  }
}

// sums += a b, summed over 16 rows of both tiles.
template <class T>
__device__ __forceinline__ void add_group_columns(float (&sums)[8][4], std::uint64_t a,
                                                  std::uint64_t b) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " CAUSEWAY_32_NAMES
                 "%32, %33, 1, 1, 1, 1, 1;"
                 : CAUSEWAY_32_SUMS
                 : "l"(a), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " CAUSEWAY_32_NAMES
                 "%32, %33, 1, 1, 1, 1, 1;"
                 : CAUSEWAY_32_SUMS
                 : "l"(a), "l"(b));
  }
}

template <class T>
__device__ __forceinline__ void add_group_columns(float (&sums)[4][4], std::uint64_t a,
                                                  std::uint64_t b) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " CAUSEWAY_16_NAMES
                 "%16, %17, 1, 1, 1, 1, 1;"
                 : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1), CAUSEWAY_SUMS(2), CAUSEWAY_SUMS(3)
                 : "l"(a), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " CAUSEWAY_16_NAMES
                 "%16, %17, 1, 1, 1, 1, 1;"
                 : CAUSEWAY_SUMS(0), CAUSEWAY_SUMS(1), CAUSEWAY_SUMS(2), CAUSEWAY_SUMS(3)
                 : "l"(a), "l"(b));
  }
}

#undef CAUSEWAY_SUMS
#undef CAUSEWAY_32_SUMS
#undef CAUSEWAY_32_NAMES
#undef CAUSEWAY_16_NAMES
#undef CAUSEWAY_8_NAMES

// sums = the rows of tile a times those of tile b, summed over features.
template <class T, int kHead, int kWide>
__device__ __forceinline__ void multiply_group_rows(float (&sums)[kWide][4],
                                                    const GroupOperand<kHead>& a,
                                                    const GroupOperand<kHead>& b) {
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    multiply_group<T>(sums, a.rows(step), b.rows(step), step > 0);
  }
}

// The columns of sums, rounded, as the operand of a product over those columns.
template <class T, int kSteps>
__device__ __forceinline__ void round_group(std::uint32_t (&a)[kSteps][4],
                                            const float (&sums)[2 * kSteps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) {
    const float* pair = &sums[2 * (i / 4) + i % 4 / 2][2 * (i % 2)];
    a[i / 4][i % 4] = pack<T>(pair[0], pair[1]);
  }
}

// sums += a times the first 16 * kSteps rows of tile b.
template <class T, int kHead, int kSteps>
__device__ __forceinline__ void add_group_rows(float (&sums)[kHead / 8][4],
                                               const std::uint32_t (&a)[kSteps][4],
                                               const GroupOperand<kHead>& b) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) add_group<T>(sums, a[step], b.columns(step));
}

}  // namespace causeway::kernels::cuda
