// A warp's part of a row of weights, and its product with x. With 8-bit weights x is rounded to 16
// bits, in two digits, so that products are integer dot products; compared with the weights, the
// rounding of x is negligible.
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
    if constexpr (std::is_same_v<W, bf16>) {
      values[i] = __uint_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff0000u);
    } else {
      static_assert(std::is_same_v<W, float>);
      values[i] = __uint_as_float(words[i]);
    }
  }
}

// A lane's elements of x as integers of 16 bits with one scale per warp: x = scale * (256 * high +
// low). Words hold four digits of 8 bits, as the weights that they are multiplied with.
template <int kWords>
struct DigitWords {
  std::uint32_t high[kWords];
  std::uint32_t low[kWords];
  float scale;

  // All lanes of a warp must call this.
  __device__ __forceinline__ explicit DigitWords(const float4 (&x)[kWords]) {
    constexpr float kLimit = 127 * 256;
    constexpr float kSmallest = 1e-30f;  // below it the inverse may be infinite: a vector of zeros
    // Floats without their sign have the order of their bits; NaN is the largest.
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      for (const float value : {x[i].x, x[i].y, x[i].z, x[i].w}) {
        most = max(most, __float_as_uint(fabsf(value)));
      }
    }
    const float largest = __uint_as_float(__reduce_max_sync(0xffffffffu, most));
    const bool is_zero = largest < kSmallest;
    const float inverse = is_zero ? 0.0f : __fdividef(kLimit, largest);
    scale = is_zero ? 0.0f : largest / kLimit;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const std::uint32_t bits[4] = {integer_bits(x[i].x * inverse), integer_bits(x[i].y * inverse),
                                     integer_bits(x[i].z * inverse),
                                     integer_bits(x[i].w * inverse)};
      low[i] = __byte_perm(__byte_perm(bits[0], bits[1], 0x0040),
                           __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
      // The second byte of the number plus 128: the low digit is signed.
      high[i] = __byte_perm(__byte_perm(bits[0] + 128, bits[1] + 128, 0x0051),
                            __byte_perm(bits[2] + 128, bits[3] + 128, 0x0051), 0x5410);
    }
  }

 private:
  // The nearest integer, whose 16 bits are the last ones of the result.
  __device__ __forceinline__ static std::uint32_t integer_bits(float value) {
    return __float_as_uint(value + 12582912.0f);  // 1.5 * 2^23: the unit of its last bit is 1
  }
};

// The part of a row that one warp multiplies: vectors of kVec elements, interleaved over the lanes.
template <class W, int kElementCount>
struct RowPart {
  static constexpr bool kIsInteger = std::is_same_v<W, std::int8_t>;
  static constexpr int kElements = kElementCount;
  static constexpr int kVec = kIsInteger ? 8 : static_cast<int>(16 / sizeof(W));
  static constexpr int kVectors = kElements / 32 / kVec;
  static constexpr int kWords = kVectors * kVec / 4;  // of four elements, in a lane
  static_assert(kVectors * 32 * kVec == kElements);
  using Vector = std::conditional_t<kIsInteger, uint2, uint4>;
  Vector vectors[kVectors];

  // Elements from `size` on are zero.
  __device__ __forceinline__ void load(const W* from, int size, int lane) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = (v * 32 + lane) * kVec;
      vectors[v] = {};
      if (column < size) vectors[v] = *reinterpret_cast<const Vector*>(from + column);
    }
  }

  // What the lane multiplies its part of each row with: digits of 8 bits, or x itself, which is
  // read for every product.
  using Operand = std::conditional_t<kIsInteger, DigitWords<kWords>, const float*>;

  // x is in shared memory in the order of place_of. All lanes of a warp must call this.
  __device__ __forceinline__ static Operand operand_of(const float* x, int lane) {
    if constexpr (kIsInteger) {
      float4 own[kWords];
      read(x, lane, own);
      return Operand(own);
    } else {
      return x;
    }
  }

  // The products of the first n_rows rows with x; in all lanes. Others are 0.
  template <int kRows>
  __device__ __forceinline__ static void dot(const RowPart (&rows)[kRows], int n_rows,
                                             const Operand& x, int lane, float (&sums)[kRows]) {
    if constexpr (kIsInteger) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = r < n_rows ? rows[r].dot_digits(x) : 0.0f;
    } else {
      float4 own[kWords];  // once for all rows
      read(x, lane, own);
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = r < n_rows ? rows[r].dot_floats(own) : 0.0f;
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = sum_warp(sums[r]);
    }
  }

  // Where element i of x is: what the lanes read at the same time are neighbours.
  __device__ __forceinline__ static int place_of(int i) {
    const int lane = i / kVec % 32;
    return i / (32 * kVec) * (32 * kVec) + i % kVec / 4 * 128 + lane * 4 + i % 4;
  }

 private:
  __device__ __forceinline__ static void read(const float* x, int lane, float4 (&own)[kWords]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) own[i] = reinterpret_cast<const float4*>(x)[i * 32 + lane];
  }

  // Of this lane.
  __device__ __forceinline__ float dot_floats(const float4 (&own)[kWords]) const {
    float sum = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float row[kVec];
      to_floats<W>(vectors[v], row);
#pragma unroll
      for (int i = 0; i < kVec; i += 4) {
        const float4& four = own[(v * kVec + i) / 4];
        sum += row[i] * four.x + row[i + 1] * four.y + row[i + 2] * four.z + row[i + 3] * four.w;
      }
    }
    return sum;
  }

  // Of the warp. Sums of digits stay below 2^24 for parts of up to 1,024 elements: exact in floats.
  __device__ __forceinline__ float dot_digits(const Operand& x) const {
    static_assert(kElements <= 1024);
    int high = 0;
    int low = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t words[2] = {vectors[v].x, vectors[v].y};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int weights = static_cast<int>(words[i]);
        high = __dp4a(weights, static_cast<int>(x.high[2 * v + i]), high);
        low = __dp4a(weights, static_cast<int>(x.low[2 * v + i]), low);
      }
    }
    const auto upper = static_cast<float>(__reduce_add_sync(0xffffffffu, high));
    const auto lower = static_cast<float>(__reduce_add_sync(0xffffffffu, low));
    return x.scale * (256.0f * upper + lower);
  }
};

}  // namespace causeway::kernels::cuda
