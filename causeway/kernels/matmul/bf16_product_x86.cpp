// Two paths for the same packed operands. A group of a panel of the left has 16 rows of 32
// elements, one of the right 16 pairs of inner elements of 16 columns each: tiles of AMX, or
// vectors of AVX-512. Bound by arithmetic, as long as panels are in L1 or L2.
#include "causeway/kernels/matmul/bf16_product_cpu.h"

#if defined(__x86_64__)

#include <algorithm>
#include <limits>
#include <vector>

#include <cpuid.h>
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 finds it in its own header
#endif
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace causeway::kernels::cpu {

namespace {

#define CAUSEWAY_AVX512 gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")
#define CAUSEWAY_AMX gnu::target("amx-tile,amx-bf16")

constexpr std::int64_t kStep = kBf16Lines * kBf16Group;  // elements of a group of a panel
constexpr std::int64_t kFloats = 16;                     // of a vector
constexpr int kLines = kBf16Lines;

// A panel of lines in memory; the padding repeats the last line.
struct PanelOfLines {
  const float* lines[kLines];

  PanelOfLines(const float* from, std::int64_t leading, std::int64_t count) {
    for (std::int64_t i = 0; i < kLines; ++i) lines[i] = from + std::min(i, count - 1) * leading;
  }
};

// Of the first `count` of 16 elements.
[[gnu::always_inline]] inline __mmask16 first_of(std::int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(count, 0, kFloats)) - 1);
}

[[CAUSEWAY_AVX512, gnu::always_inline]] inline __m512i rounded(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// A group of a line, of which `count` elements exist; the others are 0.
[[CAUSEWAY_AVX512, gnu::always_inline]] inline __m512i load_group(const float* from,
                                                                  std::int64_t count) {
  if (count >= kBf16Group) return rounded(_mm512_loadu_ps(from), _mm512_loadu_ps(from + kFloats));
  return rounded(_mm512_maskz_loadu_ps(first_of(count), from),
                 _mm512_maskz_loadu_ps(first_of(count - kFloats), from + kFloats));
}

[[CAUSEWAY_AVX512]] void pack_left(const float* from, std::int64_t leading, std::int64_t count,
                                   std::int64_t inner, Bf16Bits* to) {
  for (std::int64_t first = 0; first < count; first += kBf16Lines) {
    const PanelOfLines panel(from + first * leading, leading, count - first);
    for (std::int64_t k = 0; k < inner; k += kBf16Group, to += kStep) {
#pragma GCC unroll 4
      for (int i = 0; i < kLines; ++i) {
        _mm512_storeu_si512(to + i * kBf16Group, load_group(panel.lines[i] + k, inner - k));
      }
    }
  }
}

// Transposes 16 x 16 elements of 32 bits: in squares of four by four, then the squares.
[[CAUSEWAY_AVX512, gnu::always_inline]] inline void transpose(__m512i (&rows)[kLines]) {
  __m512i squares[kLines];  // [4 i + c] has in its part l elements 4 l + c of rows 4 i to 4 i + 3
#pragma GCC unroll 4
  for (int i = 0; i < kLines; i += 4) {
    const __m512i low[] = {_mm512_unpacklo_epi32(rows[i], rows[i + 1]),
                           _mm512_unpacklo_epi32(rows[i + 2], rows[i + 3])};
    const __m512i high[] = {_mm512_unpackhi_epi32(rows[i], rows[i + 1]),
                            _mm512_unpackhi_epi32(rows[i + 2], rows[i + 3])};
    squares[i] = _mm512_unpacklo_epi64(low[0], low[1]);
    squares[i + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
    squares[i + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
    squares[i + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
  }
  constexpr int kEven = 0x88;  // parts 0 and 2 of both operands
  constexpr int kOdd = 0xdd;
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even[] = {_mm512_shuffle_i32x4(squares[c], squares[4 + c], kEven),
                            _mm512_shuffle_i32x4(squares[8 + c], squares[12 + c], kEven)};
    const __m512i odd[] = {_mm512_shuffle_i32x4(squares[c], squares[4 + c], kOdd),
                           _mm512_shuffle_i32x4(squares[8 + c], squares[12 + c], kOdd)};
    rows[c] = _mm512_shuffle_i32x4(even[0], even[1], kEven);
    rows[4 + c] = _mm512_shuffle_i32x4(odd[0], odd[1], kEven);
    rows[8 + c] = _mm512_shuffle_i32x4(even[0], even[1], kOdd);
    rows[12 + c] = _mm512_shuffle_i32x4(odd[0], odd[1], kOdd);
  }
}

[[CAUSEWAY_AVX512]] void pack_right(const float* from, std::int64_t leading, std::int64_t count,
                                    std::int64_t inner, Bf16Bits* to) {
  for (std::int64_t first = 0; first < count; first += kBf16Lines) {
    const PanelOfLines panel(from + first * leading, leading, count - first);
    for (std::int64_t k = 0; k < inner; k += kBf16Group, to += kStep) {
      __m512i pairs[kLines];
      for (int i = 0; i < kLines; ++i) pairs[i] = load_group(panel.lines[i] + k, inner - k);
      transpose(pairs);
      for (int i = 0; i < kLines; ++i) _mm512_storeu_si512(to + i * kBf16Group, pairs[i]);
    }
  }
}

[[CAUSEWAY_AVX512]] void pack_right_across(const float* from, std::int64_t leading,
                                           std::int64_t count, std::int64_t inner, Bf16Bits* to) {
  // Interleaves the halves of a vector of 32 elements.
  const __m512i interleaved = _mm512_or_si512(
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
      _mm512_slli_epi32(
          _mm512_set_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16), 16));
  for (std::int64_t first = 0; first < count; first += kBf16Lines) {
    const __mmask16 width = first_of(count - first);
    for (std::int64_t k = 0; k < inner; k += kBf16Group) {
      const float* element = from + k * leading + first;
      const std::int64_t here = std::min(kBf16Group, inner - k);
      for (std::int64_t i = 0; i < kBf16Group; i += 2, to += 2 * kBf16Lines) {
        const __m512 even =
            i < here ? _mm512_maskz_loadu_ps(width, element + i * leading) : _mm512_setzero_ps();
        const __m512 odd = i + 1 < here ? _mm512_maskz_loadu_ps(width, element + (i + 1) * leading)
                                        : _mm512_setzero_ps();
        _mm512_storeu_si512(to, _mm512_permutexvar_epi16(interleaved, rounded(even, odd)));
      }
    }
  }
}

// Like power_of_two(), in vectors; NaN of NaN.
[[CAUSEWAY_AVX512, gnu::always_inline]] inline __m512 powers_of_two(__m512 x) {
  const __m512 place = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(x, place);
  const __m512 squared = _mm512_mul_ps(f, f);
  const __m512 high =
      _mm512_fmadd_ps(_mm512_set1_ps(1.32647273e-3f), f, _mm512_set1_ps(9.67151299e-3f));
  const __m512 middle =
      _mm512_fmadd_ps(_mm512_set1_ps(5.55073358e-2f), f, _mm512_set1_ps(2.40222424e-1f));
  const __m512 low = _mm512_fmadd_ps(_mm512_set1_ps(6.93147004e-1f), f, _mm512_set1_ps(1));
  const __m512 p = _mm512_fmadd_ps(_mm512_fmadd_ps(high, squared, middle), squared, low);
  return _mm512_scalef_ps(p, place);
}

[[CAUSEWAY_AVX512, gnu::always_inline]] inline float largest_of(const float* row,
                                                                std::int64_t inner, float before) {
  const __m512 first = _mm512_set1_ps(before);
  __m512 largest = first;
  __mmask16 not_numbers = 0;
  for (std::int64_t k = 0; k < inner; k += kFloats) {
    const __m512 x = _mm512_mask_loadu_ps(first, first_of(inner - k), row + k);
    largest = _mm512_max_ps(largest, x);
    not_numbers |= _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  }
  if (not_numbers != 0) return std::numeric_limits<float>::quiet_NaN();
  return _mm512_reduce_max_ps(largest);
}

[[CAUSEWAY_AVX512]] void pack_powers(const float* from, std::int64_t leading, std::int64_t count,
                                     std::int64_t inner, float* largest, float* sums,
                                     Bf16Bits* to) {
  const std::int64_t groups = whole_groups(inner);
  for (std::int64_t row = 0; row < count; ++row) {
    const float* scores = from + row * leading;
    largest[row] = largest_of(scores, inner, largest[row]);
    const __m512 subtracted = _mm512_set1_ps(largest[row]);
    Bf16Bits* group = to + row / kBf16Lines * kBf16Lines * groups + row % kBf16Lines * kBf16Group;
    __m512 total = _mm512_setzero_ps();
    for (std::int64_t k = 0; k < inner; k += kBf16Group, group += kStep) {
      __m512 halves[2];
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const std::int64_t at = k + half * kFloats;
        const __mmask16 exist = first_of(inner - at);
        const __m512 x = _mm512_sub_ps(_mm512_maskz_loadu_ps(exist, scores + at), subtracted);
        halves[half] = _mm512_maskz_mov_ps(exist, powers_of_two(x));
        total = _mm512_add_ps(total, halves[half]);
      }
      _mm512_storeu_si512(group, rounded(halves[0], halves[1]));
    }
    sums[row] = _mm512_reduce_add_ps(total);
  }
}

// Up to two by two panels of a result. A partial one is computed in a buffer.
struct Place {
  static constexpr std::int64_t kMost = 2 * kBf16Lines;

  Place(const Product& product, std::int64_t row, std::int64_t column, float* out)
      : rows(std::min(kMost, product.rows - row)),
        columns(std::min(kMost, product.columns - column)),
        to(out + row * product.leading + column),
        leading(product.leading),
        adds(product.adds) {}

  bool is_whole() const { return rows % kBf16Lines == 0 && columns % kBf16Lines == 0; }

  std::int64_t rows, columns;
  float* to;
  std::int64_t leading;
  bool adds;
};

template <class Multiply>
void in_buffer(const Place& place, const Multiply& multiply) {
  alignas(64) float buffer[Place::kMost * Place::kMost];
  Place whole = place;
  whole.to = buffer;
  whole.leading = Place::kMost;
  whole.rows = whole_lines(place.rows);
  whole.columns = whole_lines(place.columns);
  for (std::int64_t i = 0; place.adds && i < place.rows; ++i) {
    std::copy_n(place.to + i * place.leading, place.columns, buffer + i * Place::kMost);
  }
  multiply(whole);
  for (std::int64_t i = 0; i < place.rows; ++i) {
    std::copy_n(buffer + i * Place::kMost, place.columns, place.to + i * place.leading);
  }
}

// The places of a product, panels of the right outermost: they are larger than those of the left.
template <class Multiply>
void for_places(const Product& product, const Bf16Bits* left, const Bf16Bits* right, float* out,
                const Multiply& multiply) {
  const std::int64_t inner = whole_groups(product.inner);
  for (std::int64_t column = 0; column < product.columns; column += Place::kMost) {
    for (std::int64_t row = 0; row < product.rows; row += Place::kMost) {
      const Place place(product, row, column, out);
      const auto here = [&](const Place& whole) {
        multiply(whole, left + row * inner, right + column * inner, inner);
      };
      if (place.is_whole()) {
        here(place);
      } else {
        in_buffer(place, here);
      }
    }
  }
}

// One panel by one panel, in 16 vectors.
[[CAUSEWAY_AVX512]] void multiply_vectors(const Place& place, const Bf16Bits* left,
                                          const Bf16Bits* right, std::int64_t inner) {
  for (std::int64_t row = 0; row < place.rows; row += kBf16Lines) {
    for (std::int64_t column = 0; column < place.columns; column += kBf16Lines) {
      float* to = place.to + row * place.leading + column;
      __m512 sums[kLines];
#pragma GCC unroll 16
      for (int i = 0; i < kLines; ++i) {
        sums[i] = place.adds ? _mm512_loadu_ps(to + i * place.leading) : _mm512_setzero_ps();
      }
      const auto* down = reinterpret_cast<const std::int32_t*>(left + row * inner);
      const Bf16Bits* across = right + column * inner;
      for (std::int64_t k = 0; k < inner; k += kBf16Group, down += kStep / 2) {
        for (int pair = 0; pair < kBf16Group / 2; ++pair, across += 2 * kBf16Lines) {
          const auto columns = reinterpret_cast<__m512bh>(_mm512_loadu_si512(across));
#pragma GCC unroll 16
          for (int i = 0; i < kLines; ++i) {
            // clang 16 crashes on _mm512_set1_epi32 here.
            const __m128i element = _mm_loadu_si32(down + i * kBf16Group / 2 + pair);
            const auto all = reinterpret_cast<__m512bh>(_mm512_broadcastd_epi32(element));
            sums[i] = _mm512_dpbf16_ps(sums[i], all, columns);
          }
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < kLines; ++i) _mm512_storeu_ps(to + i * place.leading, sums[i]);
    }
  }
}

void multiply_avx512(const Product& product, const Bf16Bits* left, const Bf16Bits* right,
                     float* out) {
  for_places(product, left, right, out, multiply_vectors);
}

// Tiles 0 to 3 are sums, 4 and 5 of the left, 6 and 7 of the right.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[CAUSEWAY_AMX]] void multiply_tiles(const Place& place, const Bf16Bits* left,
                                     const Bf16Bits* right, std::int64_t inner) {
  const bool two_down = place.rows > kBf16Lines;
  const bool two_across = place.columns > kBf16Lines;
  const std::int64_t line = place.leading * 4;  // bytes
  float* below = place.to + kBf16Lines * place.leading;
  constexpr std::int64_t kRow = 64;  // bytes of a packed row
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (place.adds) {
    _tile_loadd(0, place.to, line);
    if (two_across) _tile_loadd(1, place.to + kBf16Lines, line);
    if (two_down) _tile_loadd(2, below, line);
    if (two_down && two_across) _tile_loadd(3, below + kBf16Lines, line);
  }
  const std::int64_t panel = kBf16Lines * inner;
  for (std::int64_t k = 0; k < inner; k += kBf16Group, left += kStep, right += kStep) {
    _tile_loadd(4, left, kRow);
    _tile_loadd(6, right, kRow);
    _tile_dpbf16ps(0, 4, 6);
    if (two_across) {
      _tile_loadd(7, right + panel, kRow);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (!two_down) continue;
    _tile_loadd(5, left + panel, kRow);
    _tile_dpbf16ps(2, 5, 6);
    if (two_across) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, place.to, line);
  if (two_across) _tile_stored(1, place.to + kBf16Lines, line);
  if (two_down) _tile_stored(2, below, line);
  if (two_down && two_across) _tile_stored(3, below + kBf16Lines, line);
}

[[CAUSEWAY_AMX]] void multiply_amx(const Product& product, const Bf16Bits* left,
                                   const Bf16Bits* right, float* out) {
  const TileShapes shapes;
  _tile_loadconfig(&shapes);
  for_places(product, left, right, out, multiply_tiles);
  _tile_release();
}

bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512bf16") != 0;
}

// The processor has AMX, and Linux lets this process use its registers.
bool has_amx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kBf16 = 1u << 22;
  constexpr unsigned kTiles = 1u << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kBf16) == 0 || (d & kTiles) == 0) {
    return false;
  }
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::vector<Bf16Kernels> find_paths() {
  std::vector<Bf16Kernels> paths;
  if (!has_avx512_bf16()) return paths;
  const auto add = [&](const char* name, auto multiply) {
    paths.push_back({name, pack_left, pack_right, pack_right_across, pack_powers, multiply});
  };
  if (has_amx()) add("amx", multiply_amx);
  add("avx512_bf16", multiply_avx512);
  return paths;
}

}  // namespace

std::span<const Bf16Kernels> bf16_paths() {
  static const std::vector<Bf16Kernels> paths = find_paths();
  return paths;
}

}  // namespace causeway::kernels::cpu

#endif
