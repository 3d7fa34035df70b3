#include "causeway/data/sha256_blocks.h"

#include <bit>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace causeway::data {

namespace {

constexpr std::size_t kBlock = 64;

// The first 32 fractional bits of the cube roots of the first 64 primes.
alignas(16) constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* four) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(four[i]);
  return value;
}

void add_block(Sha256State& state, const std::byte* block) {
  using std::rotr;
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t low = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t high = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t one =
        h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + kRound[i] + w[i];
    const std::uint32_t two = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const Sha256State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

void add_plain(Sha256State& state, const std::byte* blocks, std::size_t n_blocks) {
  for (std::size_t i = 0; i < n_blocks; ++i) add_block(state, blocks + i * kBlock);
}

#if defined(__x86_64__)

// The instructions keep the state in two registers: f, e, b, a and h, g, d, c, from the lowest
// element up. One does two rounds with the words in the lower half of its operand, and returns the
// new first register; the old first is then the second. They have no AVX form, and mixing both
// forms is slow on some machines (9 instead of 775 MB/s on one).
[[gnu::target("sha,sse4.1,ssse3")]] void add_by_instructions(Sha256State& state,
                                                             const std::byte* blocks,
                                                             std::size_t n_blocks) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[0]));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[4]));
  const __m128i upper = _mm_shuffle_epi32(low, _MM_SHUFFLE(0, 1, 2, 3));   // d, c, b, a
  const __m128i lower = _mm_shuffle_epi32(high, _MM_SHUFFLE(0, 1, 2, 3));  // h, g, f, e
  __m128i first = _mm_unpackhi_epi64(lower, upper);
  __m128i second = _mm_unpacklo_epi64(lower, upper);
  const __m128i reverse = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  for (const std::byte* block = blocks; block < blocks + n_blocks * kBlock; block += kBlock) {
    const __m128i first_before = first;
    const __m128i second_before = second;
    __m128i w[4];  // the last 16 words
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      w[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), reverse);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& oldest = w[i % 4];
      const __m128i& newest = w[(i + 3) % 4];
      const __m128i sum =
          _mm_add_epi32(oldest, _mm_load_si128(reinterpret_cast<const __m128i*>(&kRound[0]) + i));
      second = _mm_sha256rnds2_epu32(second, first, sum);
      first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(sum, 0x0e));
      if (i >= 12) continue;
      const __m128i middle = _mm_alignr_epi8(newest, w[(i + 2) % 4], 4);
      oldest = _mm_sha256msg2_epu32(
          _mm_add_epi32(_mm_sha256msg1_epu32(oldest, w[(i + 1) % 4]), middle), newest);
    }
    first = _mm_add_epi32(first, first_before);
    second = _mm_add_epi32(second, second_before);
  }
  alignas(16) std::uint32_t one[4];
  alignas(16) std::uint32_t two[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(one), first);
  _mm_store_si128(reinterpret_cast<__m128i*>(two), second);
  state = {one[3], one[2], two[3], two[2], one[1], one[0], two[1], two[0]};
}

// __builtin_cpu_supports does not know these instructions.
bool has_instructions() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}

#endif

std::vector<Sha256Path> find_paths() {
  std::vector<Sha256Path> paths;
#if defined(__x86_64__)
  if (has_instructions()) paths.push_back({"sha", add_by_instructions});
#endif
  paths.push_back({"plain", add_plain});
  return paths;
}

}  // namespace

std::span<const Sha256Path> sha256_paths() {
  static const std::vector<Sha256Path> paths = find_paths();
  return paths;
}

}  // namespace causeway::data
