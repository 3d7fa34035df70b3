// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): a keyed function from a 128-bit counter to 128
// random bits. It has no state: any draw can be computed directly, on any device, in any order.
#pragma once

#include "causeway/core/host_device.h"

#if !defined(__CUDACC_RTC__)
#include <cstdint>
#endif

namespace causeway {

struct Bits128 {
  std::uint32_t word[4];
};

CAUSEWAY_HOST_DEVICE void multiply_wide(std::uint32_t a, std::uint32_t b, std::uint32_t& high,
                                        std::uint32_t& low) {
  const std::uint64_t product = static_cast<std::uint64_t>(a) * b;
  high = static_cast<std::uint32_t>(product >> 32);
  low = static_cast<std::uint32_t>(product);
}

// One of the ten rounds; the key advances by kPhiloxStep after each.
CAUSEWAY_HOST_DEVICE Bits128 philox_round(Bits128 counter, std::uint32_t key0, std::uint32_t key1) {
  std::uint32_t high0, low0, high1, low1;
  multiply_wide(0xD2511F53u, counter.word[0], high0, low0);
  multiply_wide(0xCD9E8D57u, counter.word[2], high1, low1);
  return {{high1 ^ counter.word[1] ^ key0, low1, high0 ^ counter.word[3] ^ key1, low0}};
}
inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9E3779B9u;
inline constexpr std::uint32_t kPhiloxStep1 = 0xBB67AE85u;

CAUSEWAY_HOST_DEVICE Bits128 philox(Bits128 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    counter = philox_round(counter, key0, key1);
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
  return counter;
}

// The counter of block `index` of the random stream `stream`.
CAUSEWAY_HOST_DEVICE Bits128 philox_counter(std::uint64_t stream, std::uint64_t index) {
  return {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
           static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
}

// Block `index` of the random stream `stream` of a seed.
CAUSEWAY_HOST_DEVICE Bits128 philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox(philox_counter(stream, index), static_cast<std::uint32_t>(seed),
                static_cast<std::uint32_t>(seed >> 32));
}

}  // namespace causeway
