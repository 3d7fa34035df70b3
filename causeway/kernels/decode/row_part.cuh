// A warp's part of a row of weights, and its product with x.
#pragma once

#include "causeway/kernels/rows.cuh"

#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cuda {

__device__ __forceinline__ float sum_warp(float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
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
template <class W>
struct RowPart {
  static constexpr int kElements = 1024;
  static constexpr int kVec = static_cast<int>(16 / sizeof(W));
  static constexpr int kVectors = kElements / 32 / kVec;
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

  // The products of two rows of `size` elements with x, which is in shared memory in the order of
  // place_of; in all lanes.
  __device__ __forceinline__ static void dot(const RowPart (&rows)[2], const float* x, int size,
                                             int lane, float (&sums)[2]) {
    sums[0] = 0;
    sums[1] = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (v * 32 * kVec >= size) break;
      float first[kVec];
      float second[kVec];
      to_floats<W>(rows[0].vectors[v], first);
      to_floats<W>(rows[1].vectors[v], second);
#pragma unroll
      for (int i = 0; i < kVec; i += 4) {
        const float4 four = reinterpret_cast<const float4*>(x)[(v * kVec + i) / 4 * 32 + lane];
        sums[0] += first[i] * four.x + first[i + 1] * four.y + first[i + 2] * four.z +
                   first[i + 3] * four.w;
        sums[1] += second[i] * four.x + second[i + 1] * four.y + second[i + 2] * four.z +
                   second[i + 3] * four.w;
      }
    }
    sums[0] = sum_warp(sums[0]);
    sums[1] = sum_warp(sums[1]);
  }

  // Where element i of x is: what the lanes read at the same time are neighbours.
  __device__ __forceinline__ static int place_of(int i) {
    const int lane = i / kVec % 32;
    return i / (32 * kVec) * (32 * kVec) + i % kVec / 4 * 128 + lane * 4 + i % 4;
  }
};

}  // namespace causeway::kernels::cuda
