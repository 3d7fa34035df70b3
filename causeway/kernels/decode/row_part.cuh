// A warp's part of a row of weights, and its product with x.
#pragma once

#include "causeway/kernels/rows.cuh"

#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cuda {

// The sum over groups of kLanes lanes, a power of two.
template <int kLanes = 32>
__device__ __forceinline__ float sum_warp(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, mask);
  }
  return value;
}

// The elements of type W in 16 bytes.
template <class W>
__device__ __forceinline__ void to_floats(const uint4& bytes, float (&values)[16 / sizeof(W)]) {
  const std::uint32_t words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
  for (int i = 0; i < static_cast<int>(16 / sizeof(W)); ++i) {
    if constexpr (std::is_same_v<W, std::int8_t>) {
      // A byte in the mantissa of 2^23: conversions of integers have a quarter of the throughput.
      const std::uint32_t shifted = words[i / 4] ^ 0x80808080u;
      const std::uint32_t bits = __byte_perm(shifted, 0x4b000000u, 0x7440u + i % 4);
      values[i] = __uint_as_float(bits) - 8388736.0f;  // 2^23 + 128
    } else if constexpr (std::is_same_v<W, bf16>) {
      values[i] = __uint_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff0000u);
    } else {
      static_assert(std::is_same_v<W, float>);
      values[i] = __uint_as_float(words[i]);
    }
  }
}

// The part of a row that one warp multiplies: vectors of kVec elements, interleaved over the lanes.
template <class W, int kElementCount>
struct RowPart {
  static constexpr int kElements = kElementCount;
  static constexpr int kVec = static_cast<int>(16 / sizeof(W));
  static constexpr int kVectors = kElements / 32 / kVec;
  static_assert(kVectors * 32 * kVec == kElements);
  uint4 vectors[kVectors];

  // Elements from `size` on are zero.
  __device__ __forceinline__ void load(const W* from, int size, int lane) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = (v * 32 + lane) * kVec;
      vectors[v] = make_uint4(0, 0, 0, 0);
      if (column < size) vectors[v] = *reinterpret_cast<const uint4*>(from + column);
    }
  }

  // The products of the first n_rows rows with x, which is in shared memory in the order of
  // place_of; in all lanes. Others are 0. The lane reads its part of x once for all rows.
  template <int kRows>
  __device__ __forceinline__ static void dot(const RowPart (&rows)[kRows], int n_rows,
                                             const float* x, int lane, float (&sums)[kRows]) {
    float4 own[kVectors * kVec / 4];
#pragma unroll
    for (int i = 0; i < kVectors * kVec / 4; ++i) {
      own[i] = reinterpret_cast<const float4*>(x)[i * 32 + lane];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sums[r] = 0;
      if (r >= n_rows) continue;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float row[kVec];
        to_floats<W>(rows[r].vectors[v], row);
#pragma unroll
        for (int i = 0; i < kVec; i += 4) {
          const float4& four = own[(v * kVec + i) / 4];
          sums[r] +=
              row[i] * four.x + row[i + 1] * four.y + row[i + 2] * four.z + row[i + 3] * four.w;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] = sum_warp(sums[r]);
  }

  // Where element i of x is: what the lanes read at the same time are neighbours.
  __device__ __forceinline__ static int place_of(int i) {
    const int lane = i / kVec % 32;
    return i / (32 * kVec) * (32 * kVec) + i % kVec / 4 * 128 + lane * 4 + i % 4;
  }
};

}  // namespace causeway::kernels::cuda
