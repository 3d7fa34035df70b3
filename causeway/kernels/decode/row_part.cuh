// A warp's part of a row of weights, and its product with x. With 8-bit weights x is rounded to 16
// bits, in two digits, so that products are integer dot products; compared with the weights, the
// rounding of x is negligible. A block rounds it once, when it is written to shared memory.
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

// The sums over a warp of kRows values per lane: lane i receives that of value i % 4, or i % 2 if
// there are at most two. Each exchange halves the values that a lane still has.
template <int kRows>
__device__ __forceinline__ float sum_rows(const float (&values)[kRows]) {
  static_assert(kRows >= 2 && kRows <= 4);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto exchange = [&](float lower, float upper, int mask) {
    const bool is_upper = (lane & mask) != 0;
    const float given = __shfl_xor_sync(0xffffffffu, is_upper ? lower : upper, mask);
    return (is_upper ? upper : lower) + given;
  };
  float sum = exchange(values[0], values[1], 16);
  if constexpr (kRows == 2) {
    sum = sum_warp<16>(sum);
    return __shfl_sync(0xffffffffu, sum, lane % 2 * 16);
  } else {
    float last = 0;
    if constexpr (kRows == 4) last = values[3];
    sum = sum_warp<8>(exchange(sum, exchange(values[2], last, 16), 8));
    return __shfl_sync(0xffffffffu, sum, lane % 2 * 16 + lane / 2 % 2 * 8);
  }
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

// Elements of x as integers of 16 bits: 64 neighbours are scale * (256 * high + low), with digits
// of 8 bits. They take the place of 64 floats. Groups begin in different banks: what half a warp
// reads at the same time is in all of them.
class DigitGroup {
 public:
  static constexpr int kElements = 64;

  // The group of element i of x.
  __device__ __forceinline__ DigitGroup(float* x, int i)
      : bytes_(reinterpret_cast<unsigned char*>(x + i / kElements * kElements)),
        shift_(i / kElements % 4 * kElements),
        at_(i % kElements) {}

  // Rounds elements i and i + 1. The lanes of `mask`, whose elements are all of the group that
  // exist, must call this together.
  __device__ __forceinline__ void store(unsigned mask, float first, float second) const {
    constexpr float kLimit = 127 * 256;
    constexpr float kSmallest = 1e-30f;  // below it the inverse may be infinite: zeros
    // Floats without their sign have the order of their bits; NaN is the largest.
    const std::uint32_t most = max(__float_as_uint(fabsf(first)), __float_as_uint(fabsf(second)));
    const float largest = __uint_as_float(__reduce_max_sync(mask, most));
    const bool is_zero = largest < kSmallest;
    const float inverse = is_zero ? 0.0f : __fdividef(kLimit, largest);
    const std::uint32_t bits[2] = {integer_bits(first * inverse), integer_bits(second * inverse)};
    // The second byte of the number plus 128: the low digit is signed.
    store_two(0, __byte_perm(bits[0] + 128, bits[1] + 128, 0x0051));
    store_two(2, __byte_perm(bits[0], bits[1], 0x0040));
    if (at_ == 0) scale() = is_zero ? 0.0f : largest * (1 / kLimit);
  }
  // Element i = 0; of a group without elements, the scale too.
  __device__ __forceinline__ void clear() const {
    *place(0) = 0;
    *place(2) = 0;
    if (at_ == 0) scale() = 0;
  }

  // The digits of elements i to i + 7.
  __device__ __forceinline__ uint2 high() const { return *reinterpret_cast<uint2*>(place(0)); }
  __device__ __forceinline__ uint2 low() const { return *reinterpret_cast<uint2*>(place(2)); }
  __device__ __forceinline__ float& scale() const {
    return *reinterpret_cast<float*>(bytes_ + (shift_ + kElements) % (4 * kElements));
  }

 private:
  // In one of the four quarters of the group.
  __device__ __forceinline__ unsigned char* place(int quarter) const {
    return bytes_ + (shift_ + quarter * kElements) % (4 * kElements) + at_;
  }
  __device__ __forceinline__ void store_two(int quarter, std::uint32_t digits) const {
    *reinterpret_cast<std::uint16_t*>(place(quarter)) = static_cast<std::uint16_t>(digits);
  }
  // The nearest integer, whose 16 bits are the last ones of the result.
  __device__ __forceinline__ static std::uint32_t integer_bits(float value) {
    return __float_as_uint(value + 12582912.0f);  // 1.5 * 2^23: the unit of its last bit is 1
  }

  unsigned char* bytes_;
  int shift_;
  int at_;
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
  struct Digits {
    uint2 high[kVectors];
    uint2 low[kVectors];
    float scale[kVectors];
  };
  using Operand = std::conditional_t<kIsInteger, Digits, const float*>;

  // From x in shared memory, which store_pair and clear wrote.
  __device__ __forceinline__ static Operand operand_of(float* x, int lane) {
    if constexpr (kIsInteger) {
      Digits digits;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const DigitGroup group(x, (v * 32 + lane) * kVec);
        digits.high[v] = group.high();
        digits.low[v] = group.low();
        digits.scale[v] = group.scale();
      }
      return digits;
    } else {
      return x;
    }
  }

  // The product of one of the first n_rows rows with x, in the order of sum_rows; 0 for others.
  template <int kRows>
  __device__ __forceinline__ static float dot(const RowPart (&rows)[kRows], int n_rows,
                                              const Operand& x, int lane) {
    float sums[kRows];
    if constexpr (kIsInteger) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = r < n_rows ? rows[r].dot_digits(x) : 0.0f;
    } else {
      float4 own[kWords];  // once for all rows
#pragma unroll
      for (int i = 0; i < kWords; ++i) own[i] = reinterpret_cast<const float4*>(x)[i * 32 + lane];
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = r < n_rows ? rows[r].dot_floats(own) : 0.0f;
    }
    return sum_rows(sums);
  }

  // Writes elements i and i + 1 of x, which has `count` of them. i is even and grows with the lane.
  // The lanes of a warp that have elements must call this together.
  __device__ __forceinline__ static void store_pair(float* x, int i, int count, float first,
                                                    float second) {
    if constexpr (kIsInteger) {
      const int lanes = (count - i / DigitGroup::kElements * DigitGroup::kElements) / 2;
      DigitGroup(x, i).store(lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu, first, second);
    } else {
      x[place_of(i)] = first;
      x[place_of(i + 1)] = second;
    }
  }
  // Element i of x = 0.
  __device__ __forceinline__ static void clear(float* x, int i) {
    if constexpr (kIsInteger) {
      DigitGroup(x, i).clear();
    } else {
      x[place_of(i)] = 0;
    }
  }

 private:
  // Where element i of x is: what the lanes read at the same time are neighbours.
  __device__ __forceinline__ static int place_of(int i) {
    const int lane = i / kVec % 32;
    return i / (32 * kVec) * (32 * kVec) + i % kVec / 4 * 128 + lane * 4 + i % 4;
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
  __device__ __forceinline__ float dot_digits(const Digits& x) const {
    float sum = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int left = static_cast<int>(vectors[v].x);
      const int right = static_cast<int>(vectors[v].y);
      const int high = __dp4a(right, static_cast<int>(x.high[v].y),
                              __dp4a(left, static_cast<int>(x.high[v].x), 0));
      const int low = __dp4a(right, static_cast<int>(x.low[v].y),
                             __dp4a(left, static_cast<int>(x.low[v].x), 0));
      sum += x.scale[v] * static_cast<float>(256 * high + low);
    }
    return sum;
  }
};

}  // namespace causeway::kernels::cuda
