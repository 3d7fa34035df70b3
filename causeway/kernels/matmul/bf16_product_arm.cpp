// bfmmla multiplies 2 x 4 by 4 x 2 elements, so packed operands hold four inner elements of two
// lines in each vector, and left and right are packed alike. Bound by arithmetic, as long as panels
// are in L1 or L2.
#include "causeway/kernels/matmul/bf16_product_cpu.h"

#if defined(__aarch64__) && !defined(__clang__)  // which has no intrinsics by function

#include "causeway/random/elementary.h"

#include <algorithm>

#include <arm_neon.h>
#include <sys/auxv.h>

namespace causeway::kernels::cpu {

namespace {

#define CAUSEWAY_BF16 gnu::target("arch=armv8.2-a+bf16")

constexpr int kPairs = kBf16Lines / 2;
constexpr std::int64_t kStep = kBf16Lines * kBf16Group;  // elements of a group of a panel

[[CAUSEWAY_BF16, gnu::always_inline]] inline bfloat16x8_t rounded(float32x4_t low,
                                                                  float32x4_t high) {
  return vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(low), high);
}

[[CAUSEWAY_BF16, gnu::always_inline]] inline bfloat16x8_t load(const Bf16Bits* from) {
  return vreinterpretq_bf16_u16(vld1q_u16(from));
}

[[CAUSEWAY_BF16, gnu::always_inline]] inline void store(Bf16Bits* to, bfloat16x8_t vector) {
  vst1q_u16(to, vreinterpretq_u16_bf16(vector));
}

[[CAUSEWAY_BF16]] void pack(const float* from, std::int64_t leading, std::int64_t count,
                            std::int64_t inner, Bf16Bits* to) {
  for (std::int64_t first = 0; first < count; first += kBf16Lines) {
    const float* rows[kBf16Lines];  // the padding repeats the last one
    for (std::int64_t i = 0; i < kBf16Lines; ++i) {
      rows[i] = from + std::min(first + i, count - 1) * leading;
    }
    std::int64_t k = 0;
    for (; k + kBf16Group <= inner; k += kBf16Group, to += kStep) {
#pragma GCC unroll 4
      for (int pair = 0; pair < kPairs; ++pair) {
        store(to + 8 * pair,
              rounded(vld1q_f32(rows[2 * pair] + k), vld1q_f32(rows[2 * pair + 1] + k)));
      }
    }
    if (k == inner) continue;
    float rest[kBf16Lines][kBf16Group] = {};
    for (std::int64_t i = 0; i < kBf16Lines; ++i) std::copy(rows[i] + k, rows[i] + inner, rest[i]);
    for (int pair = 0; pair < kPairs; ++pair) {
      store(to + 8 * pair, rounded(vld1q_f32(rest[2 * pair]), vld1q_f32(rest[2 * pair + 1])));
    }
    to += kStep;
  }
}

// Packs four lines of eight elements.
[[CAUSEWAY_BF16, gnu::always_inline]] inline void pack_square(const float* from,
                                                              std::int64_t leading, Bf16Bits* to) {
  uint16x8_t lines[kBf16Group];
#pragma GCC unroll 4
  for (int k = 0; k < kBf16Group; ++k) {
    const float* line = from + k * leading;
    lines[k] = vreinterpretq_u16_bf16(rounded(vld1q_f32(line), vld1q_f32(line + 4)));
  }
  const uint16x8x2_t even = vzipq_u16(lines[0], lines[1]);
  const uint16x8x2_t odd = vzipq_u16(lines[2], lines[3]);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const uint32x4x2_t both =
        vzipq_u32(vreinterpretq_u32_u16(even.val[half]), vreinterpretq_u32_u16(odd.val[half]));
    vst1q_u16(to + 16 * half, vreinterpretq_u16_u32(both.val[0]));
    vst1q_u16(to + 16 * half + 8, vreinterpretq_u16_u32(both.val[1]));
  }
}

[[CAUSEWAY_BF16]] void pack_across(const float* from, std::int64_t leading, std::int64_t count,
                                   std::int64_t inner, Bf16Bits* to) {
  for (std::int64_t first = 0; first < count; first += kBf16Lines) {
    const std::int64_t width = std::min(kBf16Lines, count - first);
    for (std::int64_t k = 0; k < inner; k += kBf16Group, to += kStep) {
      const float* at = from + k * leading + first;
      if (width == kBf16Lines && k + kBf16Group <= inner) {
        pack_square(at, leading, to);
        continue;
      }
      float rest[kBf16Group][kBf16Lines] = {};
      for (std::int64_t line = 0; line < std::min(kBf16Group, inner - k); ++line) {
        std::copy_n(at + line * leading, width, rest[line]);
      }
      pack_square(rest[0], kBf16Lines, to);
    }
  }
}

// Like power_of_two(), in vectors.
[[gnu::always_inline]] inline float32x4_t powers_of_two(float32x4_t x) {
  const float32x4_t least = vmaxq_f32(x, vdupq_n_f32(-125));
  const float32x4_t place = vaddq_f32(least, vdupq_n_f32(elementary::kShift));
  const float32x4_t f = vsubq_f32(least, vsubq_f32(place, vdupq_n_f32(elementary::kShift)));
  const float32x4_t squared = vmulq_f32(f, f);
  const float32x4_t high = vfmaq_f32(vdupq_n_f32(9.67151299e-3f), vdupq_n_f32(1.32647273e-3f), f);
  const float32x4_t middle = vfmaq_f32(vdupq_n_f32(2.40222424e-1f), vdupq_n_f32(5.55073358e-2f), f);
  const float32x4_t low = vfmaq_f32(vdupq_n_f32(1), vdupq_n_f32(6.93147004e-1f), f);
  const float32x4_t p = vfmaq_f32(low, vfmaq_f32(middle, high, squared), squared);
  const int32x4_t exponent = vshlq_n_s32(vreinterpretq_s32_f32(place), 23);
  return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), exponent));
}

// The first `count` of four lanes; the others are 0.
[[gnu::always_inline]] inline float32x4_t first_of(float32x4_t x, std::int64_t count) {
  constexpr std::int32_t kLanes[] = {0, 1, 2, 3};
  const uint32x4_t is_first = vcltq_s32(vld1q_s32(kLanes), vdupq_n_s32(static_cast<int>(count)));
  return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), is_first));
}

float largest_of(const float* row, std::int64_t inner, float before) {
  float32x4_t first = vdupq_n_f32(before);
  float32x4_t second = first;
  std::int64_t k = 0;
  for (; k + 2 * kBf16Group <= inner; k += 2 * kBf16Group) {
    first = vmaxq_f32(first, vld1q_f32(row + k));
    second = vmaxq_f32(second, vld1q_f32(row + k + kBf16Group));
  }
  for (; k + kBf16Group <= inner; k += kBf16Group) first = vmaxq_f32(first, vld1q_f32(row + k));
  float largest = vmaxvq_f32(vmaxq_f32(first, second));
  for (; k < inner; ++k) largest = row[k] > largest || row[k] != row[k] ? row[k] : largest;
  return largest;
}

[[CAUSEWAY_BF16]] void pack_powers(const float* from, std::int64_t leading, std::int64_t count,
                                   std::int64_t inner, float* largest, float* sums, Bf16Bits* to) {
  for (std::int64_t row = 0; row < count; ++row) {
    largest[row] = largest_of(from + row * leading, inner, largest[row]);
  }
  const std::int64_t groups = whole_groups(inner);
  for (std::int64_t row = 0; row < count; row += 2) {
    const std::int64_t next = std::min(row + 1, count - 1);
    const float* rows[] = {from + row * leading, from + next * leading};
    const float32x4_t subtracted[] = {vdupq_n_f32(largest[row]), vdupq_n_f32(largest[next])};
    float32x4_t totals[] = {vdupq_n_f32(0), vdupq_n_f32(0)};
    Bf16Bits* pair = to + row / kBf16Lines * kBf16Lines * groups + row % kBf16Lines * kBf16Group;
    float32x4_t both[2];
    std::int64_t k = 0;
    for (; k + kBf16Group <= inner; k += kBf16Group, pair += kStep) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        both[i] = powers_of_two(vsubq_f32(vld1q_f32(rows[i] + k), subtracted[i]));
        totals[i] = vaddq_f32(totals[i], both[i]);
      }
      store(pair, rounded(both[0], both[1]));
    }
    if (k < inner) {
      for (int i = 0; i < 2; ++i) {
        both[i] = powers_of_two(vsubq_f32(vld1q_f32(rows[i] + k), subtracted[i]));
        both[i] = first_of(both[i], inner - k);
        totals[i] = vaddq_f32(totals[i], both[i]);
      }
      store(pair, rounded(both[0], both[1]));
    }
    sums[next] = vaddvq_f32(totals[1]);
    sums[row] = vaddvq_f32(totals[0]);
  }
}

// Accumulators for eight rows by eight columns, in squares of two by two.
struct Bf16Tile {
  float32x4_t sums[kPairs][kPairs];

  [[CAUSEWAY_BF16, gnu::always_inline]] void fill(const Bf16Bits* left, const Bf16Bits* right,
                                                  std::int64_t inner) {
#pragma GCC unroll 4
    for (int row = 0; row < kPairs; ++row) {
#pragma GCC unroll 4
      for (int column = 0; column < kPairs; ++column) sums[row][column] = vdupq_n_f32(0);
    }
    for (std::int64_t k = 0; k < inner; k += kBf16Group, left += kStep, right += kStep) {
      bfloat16x8_t across[kPairs];
#pragma GCC unroll 4
      for (int column = 0; column < kPairs; ++column) across[column] = load(right + 8 * column);
#pragma GCC unroll 4
      for (int row = 0; row < kPairs; ++row) {
        const bfloat16x8_t down = load(left + 8 * row);
#pragma GCC unroll 4
        for (int column = 0; column < kPairs; ++column) {
          sums[row][column] = vbfmmlaq_f32(sums[row][column], down, across[column]);
        }
      }
    }
  }

  // Writes all rows, or adds to them.
  [[gnu::always_inline]] void store(float* out, std::int64_t leading, bool adds) const {
#pragma GCC unroll 4
    for (int row = 0; row < kPairs; ++row) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const float64x2_t a = vreinterpretq_f64_f32(sums[row][2 * half]);
        const float64x2_t b = vreinterpretq_f64_f32(sums[row][2 * half + 1]);
        put(out + 2 * row * leading + 4 * half, vreinterpretq_f32_f64(vzip1q_f64(a, b)), adds);
        put(out + (2 * row + 1) * leading + 4 * half, vreinterpretq_f32_f64(vzip2q_f64(a, b)),
            adds);
      }
    }
  }

 private:
  [[gnu::always_inline]] static void put(float* to, float32x4_t sum, bool adds) {
    vst1q_f32(to, adds ? vaddq_f32(vld1q_f32(to), sum) : sum);
  }
};

[[CAUSEWAY_BF16]] void multiply_bfmmla(const Product& product, const Bf16Bits* left,
                                       const Bf16Bits* right, float* out) {
  const std::int64_t inner = whole_groups(product.inner);
  for (std::int64_t column = 0; column < product.columns; column += kBf16Lines) {
    const std::int64_t columns = std::min(kBf16Lines, product.columns - column);
    for (std::int64_t row = 0; row < product.rows; row += kBf16Lines) {
      const std::int64_t rows = std::min(kBf16Lines, product.rows - row);
      Bf16Tile tile;
      tile.fill(left + row * inner, right + column * inner, inner);
      float* to = out + row * product.leading + column;
      if (rows == kBf16Lines && columns == kBf16Lines) {
        tile.store(to, product.leading, product.adds);
        continue;
      }
      float whole[kBf16Lines * kBf16Lines];
      tile.store(whole, kBf16Lines, false);
      for (std::int64_t i = 0; i < rows; ++i, to += product.leading) {
        for (std::int64_t j = 0; j < columns; ++j) {
          to[j] = (product.adds ? to[j] : 0.0f) + whole[i * kBf16Lines + j];
        }
      }
    }
  }
}

}  // namespace

std::span<const Bf16Kernels> bf16_paths() {
  constexpr unsigned long kHasBf16 = 1UL << 14;  // HWCAP2_BF16
  static constexpr Bf16Kernels kKernels[] = {
      {"bfmmla", pack, pack, pack_across, pack_powers, multiply_bfmmla}};
  static const bool has_bf16 = (getauxval(AT_HWCAP2) & kHasBf16) != 0;
  return has_bf16 ? std::span(kKernels) : std::span<const Bf16Kernels>();
}

}  // namespace causeway::kernels::cpu

#endif
