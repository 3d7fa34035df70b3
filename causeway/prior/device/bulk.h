// Bulk random numbers of one site, and random permutations.
#pragma once

#include "causeway/prior/device/workspace.h"

namespace causeway::prior {

// Philox on consecutive counters, word by word, so that CPU loops vectorise.
template <int kBatch>
struct BitsBatch {
  std::uint32_t word[4][kBatch];

  CAUSEWAY_HOST_DEVICE BitsBatch(const Draws& draws, std::uint32_t site, std::uint32_t first,
                                 std::uint32_t b) {
    for (int i = 0; i < kBatch; ++i) {
      word[0][i] = first + static_cast<std::uint32_t>(i);
      word[1][i] = b;
      word[2][i] = site;
      word[3][i] = draws.attempt;
    }
    std::uint32_t key0 = draws.key0;
    std::uint32_t key1 = draws.key1;
    for (int round = 0; round < kPhiloxRounds; ++round) {
      for (int i = 0; i < kBatch; ++i) {
        const Bits128 next =
            philox_round({{word[0][i], word[1][i], word[2][i], word[3][i]}}, key0, key1);
        for (int k = 0; k < 4; ++k) word[k][i] = next.word[k];
      }
      key0 += kPhiloxStep0;
      key1 += kPhiloxStep1;
    }
  }
};

// Standard normal values; element i comes from block first_block + i / 4 of the site. Whole blocks
// are written, so `out` needs room for a multiple of 64.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void fill_normals_from(W& w, std::uint32_t site,
                                                 std::uint32_t first_block, float* out,
                                                 std::int64_t count) {
  constexpr int kBatch = W::Team::kRows == 1 ? 1 : 16;
  const auto n_batches = static_cast<int>((count + 4 * kBatch - 1) / (4 * kBatch));
  for_each(w.team, n_batches, [&](int at) {
    const BitsBatch<kBatch> bits(w.draws, site,
                                 first_block + static_cast<std::uint32_t>(at * kBatch), 0);
    float values[4][kBatch];
    for (int i = 0; i < kBatch; ++i) {
      normal_pair_f32(bits.word[0][i], bits.word[1][i], values[0][i], values[1][i]);
      normal_pair_f32(bits.word[2][i], bits.word[3][i], values[2][i], values[3][i]);
    }
    float* to = out + static_cast<std::int64_t>(at) * 4 * kBatch;
    for (int i = 0; i < kBatch; ++i) {
      for (int k = 0; k < 4; ++k) to[4 * i + k] = values[k][i];
    }
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE void fill_normals(W& w, std::uint32_t site, float* out, std::int64_t count) {
  fill_normals_from(w, site, 0, out, count);
}

// Allocates room for `count` values of fill_normals.
template <class W>
CAUSEWAY_HOST_DEVICE float* take_normals(W& w, std::int64_t count) {
  return w.arena.take((count + 63) / 64 * 64);
}

// A random permutation of 0 ... n - 1 with random access: a Feistel network on the next even power
// of two, with cycle walking.
struct Order {
  std::uint32_t keys[4];
  std::uint32_t n;
  std::uint32_t half_bits;

  CAUSEWAY_HOST_DEVICE Order(const Draws& draws, std::uint32_t site, int count)
      : n(static_cast<std::uint32_t>(count)), half_bits(1) {
    const Bits128 bits = draws.bits(site, 0);
    for (int i = 0; i < 4; ++i) keys[i] = bits.word[i];
    while ((1u << (2 * half_bits)) < n) ++half_bits;
  }
  CAUSEWAY_HOST_DEVICE int operator()(int place) const {
    const std::uint32_t mask = (1u << half_bits) - 1;
    auto at = static_cast<std::uint32_t>(place);
    do {
      std::uint32_t left = at >> half_bits;
      std::uint32_t right = at & mask;
      for (std::uint32_t round = 0; round < 8; ++round) {
        std::uint32_t mixed = keys[round % 4] ^ (right * 0x9E3779B1u + round * 0x85EBCA6Bu);
        mixed = (mixed ^ (mixed >> 16)) * 0x7FEB352Du;
        mixed = (mixed ^ (mixed >> 15)) * 0x846CA68Bu;
        mixed ^= mixed >> 16;
        const std::uint32_t next = (left ^ mixed) & mask;
        left = right;
        right = next;
      }
      at = left << half_bits | right;
    } while (at >= n);
    return static_cast<int>(at);
  }
};

}  // namespace causeway::prior
