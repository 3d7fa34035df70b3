// A tile keeps its eight sums in vector registers. Bound by arithmetic for many inputs, by memory
// for few.
//
// x86's vpdpbusd multiplies unsigned by signed bytes. Its unsigned operand is the weight + 128, so
// 128 times the sum of the inputs is subtracted at the end. Sums wrap around and are exact if the
// result fits.
#include "causeway/kernels/int8/dot_cpu.h"

#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && !defined(__clang__)  // which has no intrinsics by function
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace causeway::kernels::cpu {

namespace {

// Adds the columns from `begin` on, with `offset` added to the weights.
void add_columns(const Int8Tile& tile, std::int64_t begin, std::int32_t offset, Int8Sums& sums) {
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) {
      std::int32_t sum = 0;
      for (std::int64_t k = begin; k < tile.count; ++k) {
        sum += (tile.weights[w][k] + offset) * tile.inputs[i][k];
      }
      sums[i][w] += sum;
    }
  }
}

void multiply_plain(const Int8Tile& tile, Int8Sums& sums) {
  for (auto& row : sums) {
    for (std::int32_t& sum : row) sum = 0;
  }
  add_columns(tile, 0, 0, sums);
}

#if defined(__x86_64__)

constexpr std::int32_t kOffset = 128;

void finish_unsigned(const Int8Tile& tile, std::int64_t begin, Int8Sums& sums) {
  add_columns(tile, begin, kOffset, sums);
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) sums[i][w] -= kOffset * tile.input_sums[i];
  }
}

[[gnu::target("avx2")]] std::int32_t sum_of(__m256i parts) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(sum);
}

[[gnu::target("avx512f")]] std::int32_t sum_of(__m512i parts) {
  const __m256i upper = _mm512_maskz_extracti64x4_epi64(0xff, parts, 1);
  return sum_of(_mm256_add_epi32(_mm512_castsi512_si256(parts), upper));
}

[[gnu::target("avx512f,avx512bw,avx512vnni")]] void multiply_avx512_vnni(const Int8Tile& tile,
                                                                         Int8Sums& sums) {
  __m512i parts[kTileInputs][kTileWeights];
  for (auto& row : parts) {
    for (__m512i& part : row) part = _mm512_setzero_si512();
  }
  const __m512i flip = _mm512_set1_epi8(-128);  // a signed byte + 128
  std::int64_t k = 0;
  for (; k + 64 <= tile.count; k += 64) {
    const __m512i first = _mm512_loadu_si512(tile.inputs[0] + k);
    const __m512i second = _mm512_loadu_si512(tile.inputs[1] + k);
#pragma GCC unroll 4
    for (int w = 0; w < kTileWeights; ++w) {
      const __m512i weight = _mm512_xor_si512(_mm512_loadu_si512(tile.weights[w] + k), flip);
      parts[0][w] = _mm512_dpbusd_epi32(parts[0][w], weight, first);
      parts[1][w] = _mm512_dpbusd_epi32(parts[1][w], weight, second);
    }
  }
  for (int i = 0; i < kTileInputs; ++i) {
#pragma GCC unroll 4
    for (int w = 0; w < kTileWeights; ++w) sums[i][w] = sum_of(parts[i][w]);
  }
  finish_unsigned(tile, k, sums);
}

[[gnu::target("avx2,avxvnni")]] void multiply_avx_vnni(const Int8Tile& tile, Int8Sums& sums) {
  __m256i parts[kTileInputs][kTileWeights];
  for (auto& row : parts) {
    for (__m256i& part : row) part = _mm256_setzero_si256();
  }
  const auto load = [](const std::int8_t* from) __attribute__((target("avx2"))) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  const __m256i flip = _mm256_set1_epi8(-128);
  std::int64_t k = 0;
  for (; k + 32 <= tile.count; k += 32) {
    const __m256i first = load(tile.inputs[0] + k);
    const __m256i second = load(tile.inputs[1] + k);
#pragma GCC unroll 4
    for (int w = 0; w < kTileWeights; ++w) {
      const __m256i weight = _mm256_xor_si256(load(tile.weights[w] + k), flip);
      parts[0][w] = _mm256_dpbusd_avx_epi32(parts[0][w], weight, first);
      parts[1][w] = _mm256_dpbusd_avx_epi32(parts[1][w], weight, second);
    }
  }
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) sums[i][w] = sum_of(parts[i][w]);
  }
  finish_unsigned(tile, k, sums);
}

// In 16 bits, where the sum of two products fits; vpmaddubsw would saturate.
[[gnu::target("avx2")]] void multiply_avx2(const Int8Tile& tile, Int8Sums& sums) {
  __m256i parts[kTileInputs][kTileWeights];
  for (auto& row : parts) {
    for (__m256i& part : row) part = _mm256_setzero_si256();
  }
  const auto load = [](const std::int8_t* from) __attribute__((target("avx2"))) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  };
  std::int64_t k = 0;
  for (; k + 16 <= tile.count; k += 16) {
    const __m256i first = load(tile.inputs[0] + k);
    const __m256i second = load(tile.inputs[1] + k);
#pragma GCC unroll 4
    for (int w = 0; w < kTileWeights; ++w) {
      const __m256i weight = load(tile.weights[w] + k);
      parts[0][w] = _mm256_add_epi32(parts[0][w], _mm256_madd_epi16(weight, first));
      parts[1][w] = _mm256_add_epi32(parts[1][w], _mm256_madd_epi16(weight, second));
    }
  }
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) sums[i][w] = sum_of(parts[i][w]);
  }
  add_columns(tile, k, 0, sums);
}

// __builtin_cpu_supports of some compilers does not know AVX-VNNI.
bool has_avx_vnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("avx2") != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
         (a >> 4 & 1) != 0;
}

std::vector<Int8Path> find_paths() {
  std::vector<Int8Path> paths;
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    paths.push_back({"avx512_vnni", multiply_avx512_vnni});
  }
  if (has_avx_vnni()) paths.push_back({"avx_vnni", multiply_avx_vnni});
  if (__builtin_cpu_supports("avx2")) paths.push_back({"avx2", multiply_avx2});
  paths.push_back({"plain", multiply_plain});
  return paths;
}

#elif defined(__aarch64__) && !defined(__clang__)

[[gnu::target("arch=armv8.2-a+i8mm")]] void multiply_i8mm(const Int8Tile& tile, Int8Sums& sums) {
  // Each holds the products of two weights (rows) with both inputs (columns).
  int32x4_t parts[kTileWeights / 2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
  std::int64_t k = 0;
  for (; k + 8 <= tile.count; k += 8) {
    const int8x16_t inputs = vcombine_s8(vld1_s8(tile.inputs[0] + k), vld1_s8(tile.inputs[1] + k));
    for (int pair = 0; pair < kTileWeights / 2; ++pair) {
      const int8x16_t weights =
          vcombine_s8(vld1_s8(tile.weights[2 * pair] + k), vld1_s8(tile.weights[2 * pair + 1] + k));
      parts[pair] = vmmlaq_s32(parts[pair], weights, inputs);
    }
  }
  for (int pair = 0; pair < kTileWeights / 2; ++pair) {
    std::int32_t four[4];
    vst1q_s32(four, parts[pair]);
    for (int i = 0; i < kTileInputs; ++i) {
      sums[i][2 * pair] = four[i];
      sums[i][2 * pair + 1] = four[2 + i];
    }
  }
  add_columns(tile, k, 0, sums);
}

[[gnu::target("arch=armv8.2-a+dotprod")]] void multiply_sdot(const Int8Tile& tile, Int8Sums& sums) {
  int32x4_t parts[kTileInputs][kTileWeights];
  for (auto& row : parts) {
    for (int32x4_t& part : row) part = vdupq_n_s32(0);
  }
  std::int64_t k = 0;
  for (; k + 16 <= tile.count; k += 16) {
    const int8x16_t first = vld1q_s8(tile.inputs[0] + k);
    const int8x16_t second = vld1q_s8(tile.inputs[1] + k);
    for (int w = 0; w < kTileWeights; ++w) {
      const int8x16_t weight = vld1q_s8(tile.weights[w] + k);
      parts[0][w] = vdotq_s32(parts[0][w], weight, first);
      parts[1][w] = vdotq_s32(parts[1][w], weight, second);
    }
  }
  for (int i = 0; i < kTileInputs; ++i) {
    for (int w = 0; w < kTileWeights; ++w) sums[i][w] = vaddvq_s32(parts[i][w]);
  }
  add_columns(tile, k, 0, sums);
}

std::vector<Int8Path> find_paths() {
  constexpr unsigned long kDotProducts = 1UL << 20;  // HWCAP_ASIMDDP
  constexpr unsigned long kMatrices = 1UL << 13;     // HWCAP2_I8MM
  std::vector<Int8Path> paths;
  if ((getauxval(AT_HWCAP2) & kMatrices) != 0) paths.push_back({"i8mm", multiply_i8mm});
  if ((getauxval(AT_HWCAP) & kDotProducts) != 0) paths.push_back({"sdot", multiply_sdot});
  paths.push_back({"plain", multiply_plain});
  return paths;
}

#else

std::vector<Int8Path> find_paths() { return {{"plain", multiply_plain}}; }

#endif

}  // namespace

std::span<const Int8Path> int8_paths() {
  static const std::vector<Int8Path> paths = find_paths();
  return paths;
}

}  // namespace causeway::kernels::cpu
